import { randomUUID } from 'node:crypto';
import { Agent, request } from 'undici';
import { MODEL } from './catalogue.ts';
import { type Say, telling } from './progress.ts';
import type { BenchStack } from './stack.ts';
import type { BenchTenant } from './tenants.ts';

/** Silence of the API for so long is a failure. */
const agent = new Agent({
  connections: 64,
  keepAliveTimeout: 60_000,
  headersTimeout: 60_000,
  bodyTimeout: 60_000,
});

/** Asks for one generation through the public API; its id. */
export async function ask(
  { apiUrl }: Pick<BenchStack, 'apiUrl'>,
  { key }: BenchTenant,
  { prompt = 'a lighthouse in a storm', model = MODEL }: { prompt?: string; model?: string } = {},
): Promise<string> {
  const { statusCode, body } = await request(`${apiUrl}/v1/generations`, {
    dispatcher: agent,
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    },
    body: JSON.stringify({ model, input: { prompt, duration_seconds: 1 } }),
  });
  const text = await body.text();
  if (statusCode !== 202) throw new Error(`A generation was refused: ${statusCode} ${text}`);
  return (JSON.parse(text) as { id: string }).id;
}

/** Runs `count` times, at most `inFlight` at once; no further one after one that failed. @returns how many a second */
export async function perSecond(
  count: number,
  inFlight: number,
  run: () => Promise<unknown>,
): Promise<number> {
  let begun = 0;
  const startedMs = performance.now();
  const one = async () => {
    while (begun < count) {
      begun += 1;
      await run().catch((error: unknown) => {
        begun = count;
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, count) }, one));
  return (count / (performance.now() - startedMs)) * 1_000;
}

/** The same for what takes long: tells every ten seconds how many are done. */
export async function perSecondTelling(
  say: Say,
  what: string,
  count: number,
  inFlight: number,
  run: () => Promise<unknown>,
): Promise<number> {
  let done = 0;
  const one = async () => {
    await run();
    done += 1;
  };
  return telling(
    say,
    () => `${what}: ${done} of ${count}`,
    () => perSecond(count, inFlight, one),
  );
}

/** One generation from its POST to its end. */
export async function untilSettled(stack: BenchStack, tenant: BenchTenant): Promise<void> {
  await stack.settlements.of(await ask(stack, tenant));
}
