import { setTimeout as sleep } from 'node:timers/promises';
import type { Model, Route } from '../domain/catalogue.ts';
import type {
  CallOptions,
  Observation,
  Provider,
  ProviderCost,
  ProviderCredential,
  ProviderHandle,
} from '../domain/provider.ts';
import { isInlineFile, readInlineFile } from '../net/index.ts';
import type { OutboundHttp } from '../net/index.ts';
import { createMediaCheck } from '../storage/index.ts';
import { exampleInput } from './rehearse-routes.ts';

export interface SmokeContext {
  readonly http: OutboundHttp;
  readonly provider: Provider;
  readonly credential: ProviderCredential;
  /** Told each step in one line. */
  readonly say: (line: string) => void;
  readonly pollMs: number;
}

/** What became of one real job, and everything in which the provider was not as its adapter expects. */
export interface SmokeResult {
  readonly jobId: string | null;
  readonly differences: readonly string[];
}

const CALL_TIMEOUT_MS = 30_000;
const MAX_BYTES = 2_147_483_648;

/**
 * Runs one real, paid job by polling: submit, find and list where there are such, observe to its end, fetch the outputs
 * without keeping them. Nothing is sent twice.
 * @param idempotencyKey a new UUID
 */
export async function smokeProvider(
  ctx: SmokeContext,
  input: { readonly model: Model; readonly route: Route; readonly idempotencyKey: string },
): Promise<SmokeResult> {
  const { provider, credential, say } = ctx;
  const { model, route, idempotencyKey } = input;
  const options = { credential, timeoutMs: CALL_TIMEOUT_MS };
  const request = provider.buildSubmit({
    method: model.method,
    providerModel: route.providerModel,
    input: exampleInput(model),
    params: route.params,
    callbackUrl: null,
    idempotencyKey,
  });
  say(`submit: POST ${request.path}`);
  const answer = await provider.submit(request, idempotencyKey, options);
  if (answer.kind !== 'accepted') {
    return { jobId: null, differences: [`the submit was not accepted: ${answer.kind}, ${answer.reason}`] };
  }
  const { handle } = answer;
  say(`accepted: job ${handle.jobId}, status ${answer.status}`);
  const differences = [
    ...(await checkFind(provider, idempotencyKey, handle, options)),
    ...(await checkList(provider, idempotencyKey, handle, options)),
  ];
  const limitMs = performance.now() + model.deadlineSeconds.default * 1_000;
  const seen = new Set<string>();
  for (;;) {
    const observation = await provider.observe(handle, options);
    const status = 'status' in observation ? observation.status : observation.kind;
    if (!seen.has(status)) say(`observed: ${observation.kind}, status ${status}`);
    if (!seen.has(status)) differences.push(...oddities(observation, status));
    seen.add(status);
    if (observation.kind === 'succeeded') {
      differences.push(...costDifferences(provider, observation.cost, answer.cost ?? null));
      differences.push(...(await checkOutputs(ctx, model, observation)));
      return { jobId: handle.jobId, differences };
    }
    if (observation.kind === 'failed' || observation.kind === 'cancelled') {
      return {
        jobId: handle.jobId,
        differences: [...differences, `the job ended as ${observation.kind} (${status})`],
      };
    }
    if (performance.now() > limitMs) {
      const waited = `not finished after ${model.deadlineSeconds.default} s; it may still run and be billed`;
      return { jobId: handle.jobId, differences: [...differences, waited] };
    }
    await sleep(ctx.pollMs);
  }
}

function oddities(observation: Observation, status: string): string[] {
  if (observation.kind === 'running' && observation.unknownStatus) {
    return [`status "${status}" is not in the adapter's table`];
  }
  if (observation.kind === 'unavailable') return [`a look failed: ${observation.reason}`];
  return observation.kind === 'not_found' ? ['a look said that there is no such job'] : [];
}

async function checkFind(
  provider: Provider,
  key: string,
  { jobId }: ProviderHandle,
  options: CallOptions,
): Promise<string[]> {
  const found = await provider.find?.(key, options);
  if (found === undefined) return [];
  if (found.kind === 'found') return found.handle.jobId === jobId ? [] : ['find gives another job'];
  return [`find does not give the job: ${found.kind}`];
}

async function checkList(
  provider: Provider,
  key: string,
  { jobId }: ProviderHandle,
  options: CallOptions,
): Promise<string[]> {
  if (!provider.capabilities.list) return [];
  const page = await provider.list?.({ after: null, limit: 100 }, options);
  if (page?.kind !== 'page') return ['the list could not be read'];
  const job = page.jobs.find(({ handle }) => handle.jobId === jobId);
  if (job === undefined) return ['the list does not show the job among its newest'];
  const byId = provider.capabilities.idempotency === 'lookup';
  return byId && job.externalId !== key ? ['the list does not show our external id'] : [];
}

/** A cost, of whatever kind, may be told with the acceptance only. */
function costDifferences(
  { capabilities: { cost: promised } }: Provider,
  told: ProviderCost | null,
  estimated: ProviderCost | null,
): string[] {
  const found = told ?? estimated;
  return promised === 'none' || found !== null
    ? []
    : [`no cost was told, though the adapter expects one (${promised})`];
}

async function checkOutputs(
  { http, provider, credential, say }: SmokeContext,
  model: Model,
  { outputs }: Extract<Observation, { kind: 'succeeded' }>,
): Promise<string[]> {
  const differences: string[] = [];
  for (const [index, { url }] of outputs.entries()) {
    const check = createMediaCheck();
    const request = {
      url,
      hosts: provider.outputHosts,
      headersFor: (hop: URL) => provider.downloadAuth(hop, credential),
      limits: { maxBytes: MAX_BYTES, idleMs: 30_000, totalMs: 600_000 },
      signal: AbortSignal.timeout(600_000),
      write: (chunk: Uint8Array) => Promise.resolve(check.write(chunk)),
    };
    const answer = await (isInlineFile(url) ? readInlineFile(request) : http.download(request));
    if (answer.kind !== 'complete') {
      const why = 'reason' in answer ? answer.reason : String(answer.status);
      differences.push(
        `output ${index} on ${new URL(url).host} could not be fetched: ${answer.kind}, ${why}`,
      );
      continue;
    }
    const media = check.finish(answer.bytes);
    say(`output ${index}: ${answer.bytes} bytes, ${media.ok ? media.mediaType : media.reason}`);
    if (!media.ok) differences.push(`output ${index} is ${media.reason}`);
    else if (!model.outputs.mediaTypes.includes(media.mediaType)) {
      differences.push(`output ${index} is ${media.mediaType}, which the model does not allow`);
    }
  }
  return differences;
}
