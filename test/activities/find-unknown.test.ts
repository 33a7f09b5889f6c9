/** A submit at Kling whose answer is lost is sent again only long after that send, whatever was sent before it. */
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

/** One step, with what Kling answers to a submit; it knows no job. Returns the submits that it has seen by then. */
async function step(generationId: string, submitted: ScriptedAnswer): Promise<readonly string[]> {
  server.answer = ({ method, url }) =>
    method === 'POST' && url !== '/tasks' ? submitted : answer(200, { data: [] });
  await submit(deps, { generationId, cancelPressed: false, attach: null });
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

it('a lost answer after one for capacity: nothing is sent within the lease and the grace of the lost send', async () => {
  const plan = planFor();
  const timings = { ...(plan['timings'] as JsonObject), submitLeaseMs: LEASE_MS, notFoundGraceMs: GRACE_MS };
  const [route] = plan.routes;
  const kling = { ...route!, provider: 'kling', providerModel: 'kling-3.0', callbacks: false };
  const id = await create(test.db, await newTenant(test.db), {
    provider: 'kling',
    plan: { ...plan, timings, routes: [kling] } as unknown as typeof plan,
  });
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
