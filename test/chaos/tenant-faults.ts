import { openDb } from '../../src/db/index.ts';
import { revokeKey } from '../../src/db/administer.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { PRICE } from './catalogue.ts';
import type { FaultContext } from './fault-context.ts';
import type { Hit } from './strike.ts';
import { grant } from './tenant.ts';
import { wishOn, wishToPass } from './wishes.ts';

const AT_ONCE = 20;
const AFFORDED = 10;
/** Until an API that a fault has ended is there again. */
const THERE_MS = 120_000;
/** From a 410 until that is on record; what was lost is sent again. */
const ON_RECORD_MS = 60_000;
const LOOK_MS = 200;

/** F-19: twenty at once on a new account with credits for ten; ten and no more are taken. */
export async function askOnTheLastCredits(context: FaultContext, seed: number): Promise<Hit> {
  const { stack, tenant, load, violations } = context;
  const account = `poor-${seed}`;
  await grant(stack, tenant.id, account, AFFORDED * PRICE);
  const mine = Array.from({ length: AT_ONCE }, (_, number) => load.ask(wishOn(account, number)));
  const isAnswered = () => mine.every(({ status }) => status === 202 || status === 402);
  for (let waited = 0; waited < 600 && !isAnswered(); waited++) await sleep(100);
  const taken = mine.filter(({ status }) => status === 202).length;
  // What has ended without success has given its credits back, and room for another one.
  const { rows } = await stack.sql.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM generation WHERE id = ANY($1) AND state <> 'succeeded' AND completed_at IS NOT NULL`,
    [mine.map(({ id }) => id)],
  );
  const released = rows[0]?.count ?? 0;
  if (taken < AFFORDED || taken > AFFORDED + released) {
    violations.push({
      check: 'an account pays for as many as it can and no more',
      generation: null,
      problem: `${taken} of ${AT_ONCE} were taken on credits for ${AFFORDED}, ${released} of which were given back`,
    });
  }
  return { detail: `${taken} of ${AT_ONCE} taken`, hits: AT_ONCE - taken };
}

/**
 * F-20: the key in use is revoked, and refused by every API from then on; what was asked for with it ends by the same rules,
 * and another one goes on.
 */
export async function revokeTheKey({
  stack,
  tenant,
  client,
  violations,
  signal,
}: FaultContext): Promise<Hit> {
  const [first, second] = tenant.keys;
  if (client.key === second.text) return { detail: 'was revoked before', hits: 0 };
  client.keyIsRevoked();
  const db = openDb(stack.databaseUrl, { poolSize: 1 });
  try {
    await revokeKey(db, first.id, { actor: 'npm run chaos', reason: 'F-20' });
  } finally {
    await db.close();
  }
  const statuses = await Promise.all(stack.apiUrls.map((url) => statusFor(url, first.text, signal)));
  for (const [at, status] of statuses.entries()) {
    if (status === 401) continue;
    const problem = `api-${at + 1} answers it with ${status ?? 'nothing'}`;
    violations.push({ check: 'a revoked key is refused at once, everywhere', generation: null, problem });
  }
  // Whoever asks meanwhile is refused, and asks again.
  await sleep(1_500);
  client.useKey(second.text);
  return { detail: `the key in use; ${statuses.join(' and ')}`, hits: statuses.length };
}

/** What this API answers to a key, as soon as it can look into its database. */
async function statusFor(url: string, key: string, signal: AbortSignal): Promise<number | null> {
  const until = performance.now() + THERE_MS;
  while (!signal.aborted && performance.now() < until) {
    const status = await fetch(`${url}/v1/credits`, { headers: { authorization: `Bearer ${key}` } })
      .then(async (answer) => {
        await answer.arrayBuffer();
        return answer.status;
      })
      .catch(() => 503);
    if (status !== 503) return status;
    await sleep(LOOK_MS);
  }
  return null;
}

/** F-13: another endpoint that answers 410 is disabled by it, and by nothing else; then it is deleted. */
export async function closeAnEndpoint(context: FaultContext, seed: number): Promise<Hit> {
  const { stack, load, violations, signal } = context;
  const path = `/gone/${seed}`;
  const gone = stack.receiver.openGone(path);
  const endpoint = await createEndpoint(context, `${stack.webhookUrl}${path}`, `chaos-gone-${seed}`);
  if (endpoint === null) return { detail: 'stopped', hits: 0 };
  gone.secret = endpoint.secret ?? null;
  // Somebody ends soon, and is told there.
  load.ask(wishToPass(seed, 0));
  let reason: string | null = null;
  let answeredMs: number | null = null;
  while (!signal.aborted && reason === null) {
    if (gone.answered > 0) answeredMs ??= performance.now();
    if (answeredMs !== null && performance.now() - answeredMs > ON_RECORD_MS) break;
    const { rows } = await stack.sql
      .query<{ reason: string | null }>(
        `SELECT disabled_reason AS reason FROM webhook_endpoint WHERE id = $1`,
        [endpoint.id],
      )
      .catch(() => ({ rows: [] }));
    reason = rows[0]?.reason ?? null;
    await sleep(LOOK_MS);
  }
  if (!signal.aborted && (reason !== 'gone' || gone.answered === 0)) {
    const problem = `${gone.answered} webhooks were answered with 410, and it is disabled as ${reason ?? 'nothing'}`;
    violations.push({
      check: 'a 410 disables its endpoint, and nothing else does',
      generation: null,
      problem,
    });
  }
  await untilAnswered(context, () =>
    context.client.call('DELETE', `/v1/webhook-endpoints/${endpoint.id}`, {
      also: { 404: /^webhook_endpoint_not_found$/ },
    }),
  );
  return { detail: `${gone.answered} webhooks, then ${reason ?? 'nothing'}`, hits: gone.answered };
}

/** Its secret is told once only: where that answer is lost, nobody knows it. */
async function createEndpoint(
  context: FaultContext,
  url: string,
  key: string,
): Promise<{ readonly id: string; readonly secret?: string | null } | null> {
  const answer = await untilAnswered(context, () =>
    context.client.call('POST', '/v1/webhook-endpoints', { json: { url }, key }),
  );
  return answer === null ? null : (JSON.parse(answer.text) as { id: string; secret?: string | null });
}

/** Again until it is answered for good. @returns null when the run was stopped */
async function untilAnswered(
  { signal }: FaultContext,
  call: () => ReturnType<FaultContext['client']['call']>,
): ReturnType<FaultContext['client']['call']> {
  while (!signal.aborted) {
    const answer = await call();
    if (answer !== null && ![401, 429, 503].includes(answer.status) && answer.status !== 409) return answer;
    await sleep(LOOK_MS);
  }
  return null;
}
