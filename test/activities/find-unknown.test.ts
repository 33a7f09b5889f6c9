/** A submit at Kling whose answer is lost is sent again only long after that send, whatever was sent before it; and by when the run must have written again. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ActivityDeps } from '../../src/activities/index.ts';
import { submit } from '../../src/activities/submit.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import { providerIdempotencyKey, submissionId } from '../../src/domain/submission-id.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { createKlingProvider } from '../../src/providers/kling.ts';
import { useDatabase } from '../db/database.ts';
import { submissionOf } from '../db/facts.ts';
import { create, newTenant, planFor } from '../db/fixtures.ts';
import { httpTo, ScriptedServer, type ScriptedAnswer } from '../providers/scripted-server.ts';

const test = useDatabase();
const CREDENTIAL = { name: 'main', apiKey: 'key-of-kling' };
const LEASE_MS = 40_000;
const GRACE_MS = 60_000;
const answer = (status: number, members: object): ScriptedAnswer => ({
  status,
  body: JSON.stringify({ code: 0, message: '', request_id: 'r', ...members }),
});
const REFUSED = answer(429, { code: 1303 });
const LOST = { status: 500 };
const REJECTED = answer(400, { code: 1201 });
let server: ScriptedServer;
let http: OutboundHttp;
let deps: ActivityDeps;

beforeAll(async () => {
  server = await ScriptedServer.start();
  http = httpTo(server.url);
  const provider = createKlingProvider({ http, baseUrl: server.url });
  // Only what a submit uses; the rest is never touched.
  deps = {
    db: test.db,
    providers: new Map([['kling', { provider, current: CREDENTIAL, credential: () => CREDENTIAL }]]),
    callbacks: { current: () => null, submissionOf: () => null },
    links: null,
    log: { info: () => {}, error: () => {}, warn: () => {} },
    random: () => 0.5,
  } as unknown as ActivityDeps;
});
afterAll(async () => {
  await http.close();
  await server.close();
});

/** One step, with what Kling answers to a submit; it knows no job. */
function next(generationId: string, submitted: ScriptedAnswer) {
  server.answer = ({ method, url }) =>
    method === 'POST' && url !== '/tasks' ? submitted : answer(200, { data: [] });
  return submit(deps, { generationId, cancelPressed: false, attach: null });
}

/** The same; returns the submits that it has seen by then. */
async function step(generationId: string, submitted: ScriptedAnswer): Promise<readonly string[]> {
  await next(generationId, submitted);
  return server.seen
    .filter(({ method, url }) => method === 'POST' && url !== '/tasks')
    .map(({ body }) => body);
}

/** As if all that has happened to its submission had happened so much earlier. */
const age = (id: string, byMs: number) =>
  test.sql(
    `UPDATE submission SET first_sent_at = first_sent_at - $2 * interval '1 millisecond',
       updated_at = updated_at - $2 * interval '1 millisecond' WHERE generation_id = $1`,
    [id, byMs],
  );

async function ask(): Promise<string> {
  const plan = planFor();
  const timings = { ...(plan['timings'] as JsonObject), submitLeaseMs: LEASE_MS, notFoundGraceMs: GRACE_MS };
  const [route] = plan.routes;
  const kling = { ...route!, provider: 'kling', providerModel: 'kling-3.0', callbacks: false };
  return create(test.db, await newTenant(test.db), {
    provider: 'kling',
    plan: { ...plan, timings, routes: [kling] } as unknown as typeof plan,
  });
}

/** How long after the answer was recorded the sweep takes the run for lost, in ms. */
async function dueAfterAnswer(id: string): Promise<number> {
  const { dueAt } = await test.db.prisma.generation.findUniqueOrThrow({ where: { id } });
  const { updatedAt } = await test.db.prisma.submission.findFirstOrThrow({ where: { generationId: id } });
  return dueAt!.getTime() - updatedAt.getTime();
}

it('a lost answer after one for capacity: nothing is sent within the lease and the grace of the lost send', async () => {
  const id = await ask();
  expect(await step(id, REFUSED)).toHaveLength(1);
  expect(await submissionOf(test.db, id)).toMatchObject({ state: 'prepared', fence: 1 });
  await age(id, 2 * (LEASE_MS + GRACE_MS));
  expect(await step(id, LOST)).toHaveLength(2);
  expect(await submissionOf(test.db, id)).toMatchObject({ state: 'unknown', fence: 2 });

  // Asked for and not found: the job may still come to be seen.
  expect(await step(id, LOST)).toHaveLength(2);
  await age(id, LEASE_MS + GRACE_MS / 2);
  expect(await step(id, LOST)).toHaveLength(2);

  await age(id, GRACE_MS);
  const sent = await step(id, LOST);
  expect(sent).toHaveLength(3);
  expect(new Set(sent).size).toBe(1);
  expect(sent[0]).toContain(providerIdempotencyKey(submissionId(id, 1)));
  // And so after each send.
  expect(await step(id, LOST)).toHaveLength(3);
  expect(await submissionOf(test.db, id)).toMatchObject({ state: 'unknown', fence: 3 });
});

it('is asked for soon after the send whose answer was lost, however long ago the first one was', async () => {
  const id = await ask();
  await next(id, REFUSED);
  await age(id, 10 * 60_000);
  await next(id, LOST);
  expect(await next(id, LOST)).toMatchObject({ step: 'submit', reason: 'submission_unknown' });
  const { inMs } = (await next(id, LOST)) as { inMs: number };
  expect(inMs).toBeLessThan(30_000);
});

it('a definite refusal goes on at once: the run is due at once too, whatever pauses came before', async () => {
  const id = await ask();
  await next(id, REFUSED);
  await test.sql(`UPDATE submission SET fence = 9 WHERE generation_id = $1`, [id]);
  expect(await next(id, REJECTED)).toMatchObject({ step: 'settle' });
  expect(await submissionOf(test.db, id)).toMatchObject({ state: 'refused', fence: 10 });
  expect(await dueAfterAnswer(id)).toBeLessThan(30_000);
});

it('a refusal after a lost answer proves nothing: the run waits, and is due after its pause', async () => {
  const id = await ask();
  await next(id, LOST);
  await test.sql(`UPDATE submission SET fence = 9 WHERE generation_id = $1`, [id]);
  await age(id, 2 * (LEASE_MS + GRACE_MS));
  const { inMs } = (await next(id, REJECTED)) as { inMs: number };
  expect(await submissionOf(test.db, id)).toMatchObject({ state: 'unknown', fence: 10 });
  expect(inMs).toBeGreaterThan(15_000);
  expect(await dueAfterAnswer(id)).toBeGreaterThan(15_000);
});

it('so does one of a sender that died before it could tell: the claim makes it unknown', async () => {
  const id = await ask();
  await next(id, REFUSED);
  await test.sql(
    `UPDATE submission SET state = 'sending', fence = 9, lease_until = now() - interval '1 second' WHERE generation_id = $1`,
    [id],
  );
  await age(id, 2 * (LEASE_MS + GRACE_MS));
  const { inMs } = (await next(id, REJECTED)) as { inMs: number };
  expect(await submissionOf(test.db, id)).toMatchObject({ state: 'unknown', fence: 10 });
  expect(inMs).toBeGreaterThan(15_000);
});
