/** A provider that can cancel and declines this job (MiniMax, once it runs) has not taken our cancel. */
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collect } from '../../src/activities/collect.ts';
import type { ActivityDeps } from '../../src/activities/index.ts';
import { createObserve } from '../../src/activities/observe-together.ts';
import type { Step } from '../../src/domain/step.ts';
import { requestCancel } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { createMinimaxProvider } from '../../src/providers/minimax.ts';
import { useDatabase } from '../db/database.ts';
import { accept, create, newTenant, planFor, send } from '../db/fixtures.ts';
import { error, JOB, ok, task } from '../providers/minimax-scripted.ts';
import { httpTo, ScriptedServer, type ScriptedAnswer } from '../providers/scripted-server.ts';

const test = useDatabase();
const CREDENTIAL = { name: 'main', apiKey: 'sim-key' };
const GONE = error(400, 'bad_request_error', 'invalid params, invalid task_id (2013)');
let server: ScriptedServer;
let http: OutboundHttp;
let deps: ActivityDeps;

beforeAll(async () => {
  server = await ScriptedServer.start();
  http = httpTo(server.url);
  const provider = createMinimaxProvider({ http, baseUrl: server.url });
  const log = { info: () => {}, error: () => {}, warn: () => {} };
  // Only what a look uses; the rest is never touched.
  deps = {
    db: test.db,
    providers: new Map([['minimax', { provider, current: CREDENTIAL, credential: () => CREDENTIAL }]]),
    observe: createObserve(),
    pollBudget: { spacingMs: () => 0 },
    log,
    random: () => 0.5,
  } as unknown as ActivityDeps;
});
afterAll(async () => {
  await http.close();
  await server.close();
});

async function look(generationId: string, query: ScriptedAnswer): Promise<Step | 'pending'> {
  server.answer = ({ method, url }) =>
    method === 'DELETE' ? ok({ task_id: url.split('/').at(-1), action: 'cancelled' }) : query;
  const never = new AbortController().signal;
  const context = { attempt: 1, signal: never, shutdown: never, received: () => {} };
  try {
    return await collect(deps, { generationId, cancelPressed: false }, context);
  } catch (caught) {
    if (caught instanceof ApplicationFailure && caught.type === 'NotYet') return 'pending';
    throw caught;
  }
}

/** A job at MiniMax whose cancel is wished for. */
async function wished(jobId: string): Promise<string> {
  const tenant = await newTenant(test.db);
  const plan = planFor();
  const id = await create(test.db, tenant, {
    plan: { ...plan, timings: { ...plan.timings, observeSpacingMs: 0 } },
  });
  await send(test.db, id, { provider: 'minimax' });
  await accept(test.db, id, jobId);
  await requestCancel(test.db, { generationId: id, tenantId: tenant.id, actor: 'tenant' });
  return id;
}

const outcomeOf = async (id: string) =>
  (await test.db.prisma.generation.findUniqueOrThrow({ where: { id } })).cancelOutcome;
const endOf = async (id: string) =>
  (await test.db.prisma.submission.findUniqueOrThrow({ where: { id: submissionId(id, 1) } })).endedAt;

describe('a job that is not found after our cancel', () => {
  it('was not cancelled by it where the cancel was declined: it may still run and be billed', async () => {
    const id = await wished(JOB);
    expect(await look(id, task({ status: 'running' }))).toBe('pending');
    expect(await outcomeOf(id)).toBe('unsupported');
    expect(await look(id, GONE)).toBe('pending');
    expect(await outcomeOf(id)).toBe('unsupported');
    expect(await endOf(id)).toBeNull();
    expect(await look(id, task({ status: 'failed' }))).toMatchObject({
      step: 'settle',
      proposal: { state: 'failed' },
    });
  });

  it('was cancelled by it where the cancel was taken', async () => {
    const jobId = '424010985738630';
    const id = await wished(jobId);
    const end = { step: 'settle', proposal: { state: 'cancelled' } };
    expect(await look(id, task({ id: jobId, status: 'queued' }))).toMatchObject(end);
    expect(await look(id, GONE)).toMatchObject(end);
    expect(await outcomeOf(id)).toBe('confirmed');
  });
});
