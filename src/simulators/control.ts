import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { post } from './callbacks.ts';
import { faultSchema } from './faults.ts';
import { jsonBody, sendJson, type Exchange } from './http.ts';
import { isEnded, type Job } from './jobs.ts';
import type { Protocol, SimulatorContext } from './protocol.ts';

const jobPatch = z.strictObject({
  status: z.enum(['queued', 'running', 'succeeded', 'failed', 'moderated', 'cancelled']).optional(),
  output: z.enum(['link', 'empty', 'null']).optional(),
  error_code: z.string().optional(),
  expires_at: z.int().optional(),
});

const craftedCallback = z.strictObject({
  job_id: z.string(),
  url: z.string().optional(),
  type: z.string().optional(),
  event_id: z.string().optional(),
  /** Raw text instead of the provider's event. */
  body: z.string().optional(),
  secrets: z.array(z.string()).optional(),
  /** Signature headers as they stand; `{}` sends none. */
  headers: z.record(z.string(), z.string()).optional(),
  time_offset_seconds: z.int().default(0),
  times: z.int().min(1).max(200).default(1),
  concurrently: z.boolean().default(false),
  delay_ms: z.int().min(0).max(60_000).default(0),
});

const secretsBody = z.strictObject({ secrets: z.array(z.string().min(1)).min(1).max(8) });

/** Parses a control body; on failure answers 400 with what is wrong and returns undefined. */
function parse<S extends z.ZodType>(exchange: Exchange, schema: S): z.output<S> | undefined {
  const result = schema.safeParse(jsonBody(exchange));
  if (!result.success) sendJson(exchange, 400, { error: z.prettifyError(result.error) });
  return result.data;
}

function journalEntry(job: Job) {
  return {
    id: job.id,
    status: job.state,
    deleted: job.deleted,
    idempotency_key: job.idempotencyKey,
    external_id: job.externalId,
    request_body: job.requestBody,
    created_at: new Date(job.createdAtMs).toISOString(),
    ...job.journal,
  };
}

function showJournal(exchange: Exchange, { journal, jobs }: SimulatorContext): void {
  const prompt = exchange.url.searchParams.get('prompt') ?? '';
  const { totals, requests } = journal.snapshot();
  sendJson(exchange, 200, {
    totals,
    jobs: jobs
      .accepted()
      .filter((job) => job.prompt.includes(prompt))
      .map(journalEntry),
    requests: requests.filter((request) => prompt === '' || request.prompt?.includes(prompt)),
  });
}

function addFaults(exchange: Exchange, { faults }: SimulatorContext): void {
  const added = parse(exchange, z.union([z.array(faultSchema), faultSchema.transform((fault) => [fault])]));
  if (added === undefined) return;
  for (const fault of added) faults.add(fault);
  sendJson(exchange, 200, { faults: faults.list() });
}

function patchJob(exchange: Exchange, { jobs }: SimulatorContext, protocol: Protocol, id: string): void {
  const job = jobs.get(id);
  const patch = parse(exchange, jobPatch);
  if (patch === undefined) return;
  if (job === undefined) return sendJson(exchange, 404, { error: 'no such job' });
  if (patch.output !== undefined) job.output = patch.output;
  if (patch.expires_at !== undefined) job.expiresAtMs = patch.expires_at * 1_000;
  if (patch.status !== undefined && isEnded(patch.status) && !isEnded(job.state)) {
    jobs.end(job, patch.status, patch.error_code ?? (patch.status === 'failed' ? 'render_error' : null));
  } else {
    job.state = patch.status ?? job.state;
    job.errorCode = patch.error_code ?? job.errorCode;
  }
  sendJson(exchange, 200, protocol.jobJson(job));
}

async function craftCallback(
  exchange: Exchange,
  context: SimulatorContext,
  protocol: Protocol,
): Promise<void> {
  const crafted = parse(exchange, craftedCallback);
  if (crafted === undefined) return;
  const job = context.jobs.get(crafted.job_id);
  const url = crafted.url ?? job?.webhookUrl;
  if (job === undefined || url === undefined || url === null) {
    return sendJson(exchange, 404, { error: 'no such job, or it has no webhook: give `url`' });
  }
  const event = protocol.event(job, crafted.type, crafted.event_id);
  const body = crafted.body === undefined ? event.body : Buffer.from(crafted.body);
  const sendOnce = async () => {
    const atMs = Date.now() + crafted.time_offset_seconds * 1_000;
    const secrets = crafted.secrets ?? context.secrets;
    const headers = crafted.headers ?? protocol.callbackHeaders({ ...event, body }, job, secrets, atMs);
    const answer = await post(url, body, headers, context.options.callbackTimeoutMs);
    const forged = crafted.headers !== undefined || crafted.secrets !== undefined;
    context.journal.callback(job.journal, {
      event_id: event.id,
      type: event.type,
      attempt: 0,
      forged,
      answer,
    });
    return answer;
  };
  await sleep(crafted.delay_ms, undefined, { ref: false });
  const answers: (number | string)[] = [];
  const sends = Array.from({ length: crafted.times }, () => sendOnce);
  if (crafted.concurrently) answers.push(...(await Promise.all(sends.map((send) => send()))));
  else for (const send of sends) answers.push(await send());
  sendJson(exchange, 200, { event_id: event.id, answers });
}

function rotateSecrets(exchange: Exchange, context: SimulatorContext): void {
  const body = parse(exchange, secretsBody);
  if (body === undefined) return;
  context.secrets = body.secrets;
  sendJson(exchange, 200, { secrets: body.secrets.length });
}

function resetAll(exchange: Exchange, context: SimulatorContext, protocol: Protocol): void {
  context.faults.clear();
  context.sender.clear();
  context.jobs.clear();
  context.journal.reset();
  context.secrets = context.options.webhookSecrets;
  protocol.reset?.();
  sendJson(exchange, 200, { reset: true });
}

/** The control routes under `/_sim`; they exist in no real provider. */
export function handleControl(
  exchange: Exchange,
  context: SimulatorContext,
  protocol: Protocol,
): void | Promise<void> {
  const route = `${exchange.method} ${exchange.url.pathname}`;
  const jobId = /^POST \/_sim\/jobs\/([^/]+)$/.exec(route)?.[1];
  if (jobId !== undefined) return patchJob(exchange, context, protocol, decodeURIComponent(jobId));
  switch (route) {
    case 'GET /_sim/journal':
      return showJournal(exchange, context);
    case 'GET /_sim/faults':
      return sendJson(exchange, 200, { faults: context.faults.list() });
    case 'POST /_sim/faults':
      return addFaults(exchange, context);
    case 'POST /_sim/reset':
      return resetAll(exchange, context, protocol);
    case 'POST /_sim/callback':
      return craftCallback(exchange, context, protocol);
    case 'POST /_sim/secrets':
      return rotateSecrets(exchange, context);
    default:
      return sendJson(exchange, 404, { error: `no control route ${route}: see darkroom simulate --help` });
  }
}
