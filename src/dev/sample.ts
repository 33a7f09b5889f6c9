import { randomUUID } from 'node:crypto';
import type { GenerationView } from '../domain/generation-view.ts';
import { createStorage } from '../storage/index.ts';
import { readSampleFacts } from './seed.ts';
import type { Stack } from './stack.ts';

export interface Credits {
  readonly available: number;
  readonly held: number;
  readonly spent: number;
}

/** What came of one sample, in the form `--json` prints. */
export interface SampleResult {
  readonly id: string;
  readonly model: string;
  readonly state: string;
  readonly stage: string;
  readonly finished_by: string | null;
  readonly credits: { readonly held: number; readonly captured: number; readonly released: number };
  readonly output: {
    readonly path: string | null;
    /** Signed: whoever has it can read the file until its time. */
    readonly url: string | null;
    readonly media_type: string | null;
    readonly bytes: number | null;
    readonly sha256: string | null;
  } | null;
}

/** One ends by the provider's callback, the other is polled. */
const SAMPLES = [
  { model: 'infro-video', prompt: 'A lighthouse in a storm, seen from the sea' },
  { model: 'infro-video-polled', prompt: 'A paper boat crossing a puddle in the rain' },
];
const EVERY_MS = 250;
const TIMEOUT_MS = 120_000;
const TERMINAL = new Set(['succeeded', 'failed', 'cancelled', 'expired']);

/** Calls the public API as a tenant. @throws Error with the problem's code and advice */
async function call<T>(
  apiUrl: string,
  apiKey: string,
  path: string,
  init: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<T> {
  const answer = await fetch(`${apiUrl}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...init.headers },
    signal: AbortSignal.timeout(15_000),
  });
  const body: unknown = await answer.json();
  if (answer.ok) return body as T;
  const { code, detail } = body as { code?: string; detail?: string };
  throw new Error(`${init.method ?? 'GET'} ${path} answered ${answer.status} ${code ?? ''}: ${detail ?? ''}`);
}

/** The default account's balance. @throws Error when the key is not known (another database) */
export function readCredits(apiUrl: string, apiKey: string): Promise<Credits> {
  return call<Credits>(apiUrl, apiKey, '/v1/credits');
}

/**
 * Runs the samples at the same time through the public HTTP API, to their ends.
 * @param onChange told the present views after each change, for a progress line
 * @throws Error when a call is refused, or a sample has not ended after two minutes
 */
export async function runSamples(
  stack: Stack,
  apiKey: string,
  onChange: (views: readonly GenerationView[]) => void,
): Promise<SampleResult[]> {
  const create = ({ model, prompt }: (typeof SAMPLES)[number]) =>
    call<GenerationView>(stack.apiUrl, apiKey, '/v1/generations', {
      method: 'POST',
      headers: { 'idempotency-key': randomUUID() },
      body: JSON.stringify({ model, input: { prompt } }),
    });
  let views = await Promise.all(SAMPLES.map(create));
  onChange(views);
  const until = performance.now() + TIMEOUT_MS;
  while (views.some(({ state }) => !TERMINAL.has(state))) {
    if (performance.now() > until) {
      const open = views.filter(({ state }) => !TERMINAL.has(state));
      throw new Error(
        `${open.map(({ id, state, stage }) => `${id} is ${state} (${stage})`).join(', ')} after two minutes: look at the runs in the Temporal UI and at the logs.`,
      );
    }
    await new Promise((done) => setTimeout(done, EVERY_MS));
    views = await Promise.all(
      views.map(({ id }) => call<GenerationView>(stack.apiUrl, apiKey, `/v1/generations/${id}`)),
    );
    onChange(views);
  }
  return Promise.all(views.map((view) => toResult(stack, view)));
}

async function toResult(stack: Stack, view: GenerationView): Promise<SampleResult> {
  const { finishedBy, path } = await readSampleFacts(stack.databaseUrl, view.id);
  const { id, model, state, stage } = view;
  const { held, captured, released } = view.credits;
  const output = view.outputs[0];
  return {
    id,
    model,
    state,
    stage,
    finished_by: finishedBy,
    credits: { held, captured, released },
    output:
      output === undefined
        ? null
        : {
            path: path === null ? null : createStorage(stack.storageUrl).locate(path),
            url: output.url === null ? null : new URL(output.url, stack.apiUrl).href,
            media_type: output.media_type,
            bytes: output.bytes,
            sha256: output.sha256,
          },
  };
}
