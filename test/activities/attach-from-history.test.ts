import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ActivityDeps } from '../../src/activities/index.ts';
import { look } from '../../src/activities/submit.ts';
import { settle } from '../../src/db/index.ts';
import { STEP_BROKEN } from '../../src/domain/step-failures.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { createInfroProvider } from '../../src/providers/infro.ts';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { infroSimulator } from '../../src/simulators/infro.ts';
import { useDatabase } from '../db/database.ts';
import { accepted, answer, create, newTenant, planFor, send } from '../db/fixtures.ts';

const test = useDatabase();
const CREDENTIAL = { name: 'main', apiKey: 'sim-key' };
const told: string[] = [];
let simulator: RunningSimulator;
let http: OutboundHttp;
let deps: ActivityDeps;

beforeAll(async () => {
  simulator = await startSimulator(infroSimulator, { renderMs: 60_000 });
  const { hostname: host, port } = new URL(simulator.url);
  http = createOutboundHttp({ allow: [{ host, port: Number(port) }] });
  const provider = createInfroProvider({ http, baseUrl: simulator.url });
  const tell = (_: object, message: string) => told.push(message);
  const access = { provider, current: CREDENTIAL, credential: () => CREDENTIAL };
  // Only what these steps use; the rest is never touched.
  deps = {
    db: test.db,
    providers: new Map([['infro', access]]),
    callbacks: { current: () => null, url: () => null, submissionOf: () => null },
    log: { info: tell, warn: tell, error: tell },
    random: () => 0.5,
  } as unknown as ActivityDeps;
});
afterAll(async () => {
  await http.close();
  await simulator.close();
});

const attachAt = (generationId: string, jobId: string, ordinal = 1) =>
  look(deps, {
    generationId,
    cancelPressed: false,
    attach: { submissionId: submissionId(generationId, ordinal), jobId },
  });
const jobs = async (generationId: string) =>
  test.db.prisma.submission.findMany({
    where: { generationId },
    orderBy: { ordinal: 'asc' },
    select: { state: true, providerJobId: true },
  });

describe('a job that was accepted while the database was away', () => {
  it('goes to its own submission, also when a newer one stands by now; that one goes on', async () => {
    const plan = planFor();
    const [route] = plan.routes;
    const id = await create(test.db, await newTenant(test.db), {
      plan: { ...plan, routes: [route!, route!] },
    });
    await answer(test.db, id, await send(test.db, id), 'not_sent');
    await send(test.db, id, { ordinal: 2, routeIndex: 1 });
    expect(await attachAt(id, 'job_of_the_first')).toMatchObject({ step: 'submit', provider: 'infro' });
    expect(await jobs(id)).toEqual([
      { state: 'abandoned', providerJobId: 'job_of_the_first' },
      { state: 'sending', providerJobId: null },
    ]);
  });

  it('that belongs to another submission is shown to a person, and not dropped', async () => {
    const other = await accepted(test.db, await newTenant(test.db));
    const [taken] = await jobs(other);
    const id = await create(test.db, await newTenant(test.db));
    await send(test.db, id);
    await expect(attachAt(id, taken?.providerJobId ?? '')).rejects.toMatchObject({
      type: STEP_BROKEN,
      message: 'job_taken',
    });
  });

  it('that can not be attached after the end is told, and lets the run end', async () => {
    const other = await accepted(test.db, await newTenant(test.db));
    const [taken] = await jobs(other);
    const id = await create(test.db, await newTenant(test.db), { deadlineSeconds: 0 });
    await answer(test.db, id, await send(test.db, id), 'unknown');
    await settle(test.db, id, { state: 'expired', errorCode: 'submission_unresolved' });
    expect(await attachAt(id, taken?.providerJobId ?? '')).toEqual({ step: 'done', state: 'expired' });
    expect(told).toContain('a job accepted before the end could not be attached');
  });
});
