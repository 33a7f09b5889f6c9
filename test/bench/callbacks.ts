import { randomUUID } from 'node:crypto';
import { Agent, request } from 'undici';
import { waitUntil } from '../../src/dev/child.ts';
import { createCallbackUrls } from '../../src/domain/callback-urls.ts';
import { parseKeyring } from '../../src/domain/keyring.ts';
import { signInfro } from '../../src/simulators/infro.ts';
import { MODEL } from './catalogue.ts';
import { ask } from './load.ts';
import { telling } from './progress.ts';
import { KEYRING, SECRETS, type BenchStack } from './stack.ts';
import type { BenchTenant } from './tenants.ts';

/** Jobs with this word in their prompt render until they are told to end, and send no callback of their own. */
const HELD = 'held';
const agent = new Agent({
  connections: 256,
  keepAliveTimeout: 60_000,
  headersTimeout: 60_000,
  bodyTimeout: 60_000,
});

/** A generation that waits for its provider's callback. */
export interface Waiting {
  readonly id: string;
  readonly submissionId: string;
  readonly jobId: string;
}

/** What became of one callback, by performance.now(). */
export interface CallbackTimes {
  readonly id: string;
  readonly sentMs: number;
  readonly acknowledgedMs: number;
  readonly settledMs: number;
}

async function control({ simulatorUrl }: BenchStack, path: string, body: unknown): Promise<unknown> {
  const answer = await request(`${simulatorUrl}/_sim/${path}`, {
    dispatcher: agent,
    method: 'POST',
    body: JSON.stringify(body),
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`simulator, ${path}: ${answer.statusCode} ${text}`);
  return JSON.parse(text);
}

const holding = new WeakSet<BenchStack>();

/** Has the simulator hold what `askHeld` asks for; more than once does no more. */
export async function holdJobs(stack: BenchStack): Promise<void> {
  if (holding.has(stack)) return;
  holding.add(stack);
  const match = { prompt: HELD };
  await control(stack, 'faults', [
    { kind: 'stuck', match },
    { kind: 'no_callbacks', match },
  ]);
}

/** Asks for one that waits until its callback is sent here. */
export function askHeld(stack: BenchStack, tenant: BenchTenant, model = MODEL): Promise<string> {
  return ask(stack, tenant, { prompt: `a lighthouse, ${HELD} until it is told`, model });
}

/** Waits until all of these wait for their providers; an Error after `limitMs`. */
export async function untilWaiting(
  stack: BenchStack,
  ids: readonly string[],
  limitMs = 120_000,
): Promise<Waiting[]> {
  const found = new Map<string, Waiting>();
  const look = async () => {
    const left = ids.filter((id) => !found.has(id));
    const rows = await stack.db.prisma.submission.findMany({
      where: { generationId: { in: left.slice(0, 5_000) }, state: 'accepted' },
      select: { id: true, generationId: true, providerJobId: true },
    });
    for (const { id, generationId, providerJobId } of rows) {
      if (providerJobId !== null)
        found.set(generationId, { id: generationId, submissionId: id, jobId: providerJobId });
    }
    return found.size === ids.length;
  };
  const all = await telling(
    stack.say,
    () => `waiting for their provider: ${found.size} of ${ids.length}`,
    () => waitUntil(look, { timeoutMs: limitMs, everyMs: 100 }),
  );
  if (!all)
    throw new Error(
      `${ids.length - found.size} do not wait for their provider: ${await statesOf(stack, ids)}`,
    );
  return ids.map((id) => found.get(id)!);
}

/** How many are in which state, for an error. */
async function statesOf({ db }: BenchStack, ids: readonly string[]): Promise<string> {
  const rows = await db.prisma.generation.groupBy({
    by: ['state', 'errorCode'],
    where: { id: { in: ids.slice(0, 5_000) } },
    _count: true,
  });
  return rows.map(({ state, errorCode, _count }) => `${_count} ${state} ${errorCode ?? ''}`).join(', ');
}

/** Ends the job at the provider and sends its callback, as the provider would, from this process. */
export async function callBack(
  stack: BenchStack,
  { id, submissionId, jobId }: Waiting,
  limitMs?: number,
): Promise<CallbackTimes> {
  const data = await control(stack, `jobs/${encodeURIComponent(jobId)}`, { status: 'succeeded' });
  const urls = createCallbackUrls(parseKeyring(KEYRING), stack.apiUrl);
  const url = urls.url({ base: stack.apiUrl, keyId: 'bench', provider: 'infro', submissionId });
  const event = {
    id: `evt_${randomUUID()}`,
    type: 'job.succeeded',
    created_at: Math.floor(Date.now() / 1_000),
    data,
  };
  const body = Buffer.from(JSON.stringify(event));
  const headers = signInfro(body, [SECRETS.infro.webhookSecret], Date.now());
  const settled = stack.settlements.of(id, limitMs);
  const sentMs = performance.now();
  const answer = await request(url ?? '', {
    dispatcher: agent,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  await answer.body.dump();
  const acknowledgedMs = performance.now();
  if (answer.statusCode !== 200) throw new Error(`a callback was answered ${answer.statusCode}`);
  return { id, sentMs, acknowledgedMs, settledMs: await settled };
}
