import { describe, expect, it } from 'vitest';
import { submissionId } from '../../src/domain/submission-id.ts';
import { accept, answer, drop, observe, send as sendToProvider, store } from '../db/fixtures.ts';
import { send } from './client.ts';
import { codeOf, pathsOf, useApi } from './suite.ts';
import { create, get, newTenant, sendJson } from './tenants.ts';
import type { TestTenant } from './tenants.ts';

const suite = useApi();
const UNKNOWN_GENERATION = `gen_${'0'.repeat(26)}`;
const ACTIONS = [
  'wake',
  'observe',
  'retry-storing',
  'attach-job',
  'not-accepted',
  'cancel',
  'redeliver',
] as const;
const JOB = { job_id: 'job_1' };

const act = (id: string, action: string, body: object = {}, key = suite.operator.key) =>
  sendJson(suite.api.url, key, {
    path: `/admin/v1/generations/${id}/${action}`,
    body: { reason: 'ticket 7', ...body },
  });
async function created(tenant?: TestTenant): Promise<string> {
  const of = tenant ?? (await newTenant(suite.db));
  return (await create(suite.api.url, of)).json()['id'] as string;
}
async function waiting(): Promise<string> {
  const id = await created();
  await sendToProvider(suite.db, id);
  await accept(suite.db, id);
  return id;
}
async function unknown(tenant?: TestTenant): Promise<string> {
  const id = await created(tenant);
  await answer(suite.db, id, await sendToProvider(suite.db, id), 'unknown');
  return id;
}
const wokenBy = (id: string) =>
  suite.api.woken.filter(({ run }) => run.generationId === id).map(({ reason }) => reason);
const actionsOf = (generationId: string) =>
  suite.db.prisma.operatorAction.findMany({ where: { generationId }, orderBy: { id: 'asc' } });

/** What an action answers beside what the test names. */
const answered = (id: string, action: string, more: object) => ({
  object: 'operator_action',
  generation: id,
  action,
  dry_run: false,
  submission: null,
  job_id: null,
  count: null,
  skipped: null,
  store_until: null,
  temporal_url: `http://ui.test/namespaces/default/workflows/${id}`,
  ...more,
});

describe('POST /admin/v1/generations/{id}/…', () => {
  it.each(ACTIONS)(
    '%s is for operators only, with a reason, of a generation that there is',
    async (action) => {
      const body = action === 'attach-job' ? JOB : {};
      const tenant = await newTenant(suite.db);
      const id = await created(tenant);
      expect(codeOf(await act(id, action, body, tenant.key))).toEqual([403, 'scope_missing']);
      expect(
        codeOf(await send(suite.api.url, { method: 'POST', path: `/admin/v1/generations/${id}/${action}` })),
      ).toEqual([401, 'api_key_missing']);
      const wrong = await act(id, action, { ...body, reason: ' ', dry_run: 'yes', more: 1 });
      expect([wrong.status, pathsOf(wrong).sort()]).toEqual([400, ['/dry_run', '/more', '/reason']]);
      expect(await actionsOf(id)).toEqual([]);
      for (const unknown of [UNKNOWN_GENERATION, 'x', '%00']) {
        expect(codeOf(await act(unknown, action, body))).toEqual([404, 'generation_not_found']);
      }
    },
  );

  it('wake: the run looks at its rows; recorded under the key', async () => {
    const id = await waiting();
    const ran = await act(id, 'wake');
    expect([ran.status, ran.json()]).toEqual([
      200,
      answered(id, 'wake', { outcome: 'woken', state: 'running', stage: 'waiting' }),
    ]);
    expect(wokenBy(id)).toEqual(['created', 'operator']);
    expect(await actionsOf(id)).toMatchObject([
      { kind: 'wake', actor: suite.operator.actor, reason: 'ticket 7' },
    ]);
  });

  it('observe: with the job that is looked at', async () => {
    const id = await waiting();
    expect((await act(id, 'observe')).json()).toEqual(
      answered(id, 'observe', {
        outcome: 'observing',
        state: 'running',
        stage: 'waiting',
        submission: submissionId(id, 1),
        job_id: `job-${id}`,
        count: 1,
      }),
    );
    expect(wokenBy(id)).toEqual(['created', 'operator']);
  });

  it('retry-storing: for 24 hours unless told', async () => {
    const id = await waiting();
    await observe(suite.db, id, 'succeeded', { storeForMs: 60_000 });
    await drop(suite.db, id, 0, 'lost');
    const hoursOf = async (body: object) => {
      const ran = (await act(id, 'retry-storing', body)).json();
      expect(ran).toMatchObject({ outcome: 'storing', count: 1, stage: 'storing' });
      return Math.round((Date.parse(ran['store_until'] as string) - Date.now()) / 3_600_000);
    };
    expect([await hoursOf({}), await hoursOf({ hours: 168 })]).toEqual([24, 168]);
    for (const hours of [0, 169, 1.5, '24']) {
      expect(pathsOf(await act(id, 'retry-storing', { hours }))).toEqual(['/hours']);
    }
  });

  it('attach-job: named and woken; malformed ids are wrong fields', async () => {
    const id = await unknown();
    expect((await act(id, 'attach-job', JOB)).json()).toEqual(
      answered(id, 'attach-job', {
        outcome: 'attaching',
        state: 'running',
        stage: 'submission_unknown',
        submission: submissionId(id, 1),
        job_id: 'job_1',
      }),
    );
    expect(wokenBy(id)).toEqual(['created', 'operator']);
    for (const job of ['', '..', 'a b', 'x'.repeat(256), undefined]) {
      expect(pathsOf(await act(id, 'attach-job', { job_id: job }))).toEqual(['/job_id']);
    }
    const other = await act(id, 'attach-job', { ...JOB, submission: submissionId(id, 9) });
    expect([...codeOf(other), other.json()['why']]).toEqual([409, 'action_not_possible', 'no_submission']);
  });

  it('not-accepted: ends and releases, and the run ends too', async () => {
    const tenant = await newTenant(suite.db, { credits: 500 });
    const id = await unknown(tenant);
    expect((await act(id, 'not-accepted', { submission: submissionId(id, 1) })).json()).toMatchObject({
      outcome: 'ended',
      state: 'failed',
      stage: 'done',
    });
    expect((await get(suite.api.url, tenant, `/v1/generations/${id}`)).json()).toMatchObject({
      error: { code: 'provider_unavailable' },
      credits: { released: 100 },
    });
    expect(wokenBy(id)).toEqual(['created', 'operator']);
    const again = await act(id, 'not-accepted');
    expect([...codeOf(again), again.json()['state']]).toEqual([409, 'already_terminal', 'failed']);
  });

  it('not-accepted with resubmit: only when confirmed, or as a dry run', async () => {
    const id = await unknown();
    for (const confirm of [undefined, false]) {
      expect(pathsOf(await act(id, 'not-accepted', { resubmit: true, confirm }))).toEqual(['/confirm']);
    }
    const resubmitting = { outcome: 'resubmitting', state: 'running', stage: 'queued' };
    expect((await act(id, 'not-accepted', { resubmit: true, dry_run: true })).json()).toMatchObject({
      ...resubmitting,
      dry_run: true,
    });
    expect(wokenBy(id)).toEqual(['created']);
    expect((await act(id, 'not-accepted', { resubmit: true, confirm: true })).json()).toMatchObject(
      resubmitting,
    );
    expect(wokenBy(id)).toEqual(['created', 'operator']);
  });

  it('cancel: at once, or asked for', async () => {
    const [queued, running] = [await created(), await waiting()];
    expect((await act(queued, 'cancel')).json()).toMatchObject({ outcome: 'cancelled', state: 'cancelled' });
    expect((await act(running, 'cancel')).json()).toMatchObject({ outcome: 'requested', state: 'running' });
  });

  it('redeliver: says when there was nothing to tell', async () => {
    const ran = await act(await created(), 'redeliver');
    expect([...codeOf(ran), ran.json()['why']]).toEqual([409, 'action_not_possible', 'nothing_to_redeliver']);
  });

  it('a dry run of each tells the same and changes nothing', async () => {
    const dry = { dry_run: true };
    const stored = await waiting();
    await observe(suite.db, stored, 'succeeded');
    await drop(suite.db, stored, 0, 'invalid');
    const cases = [
      [await waiting(), 'wake', {}, 'woken'],
      [await waiting(), 'observe', {}, 'observing'],
      [stored, 'retry-storing', {}, 'storing'],
      [await unknown(), 'attach-job', JOB, 'attaching'],
      [await unknown(), 'not-accepted', {}, 'ended'],
      [await created(), 'cancel', {}, 'cancelled'],
    ] as const;
    for (const [id, action, body, outcome] of cases) {
      const rows = () =>
        Promise.all([
          suite.db.prisma.generation.findUnique({ where: { id }, include: { hold: true } }),
          suite.db.prisma.submission.findMany({ where: { generationId: id }, include: { callbacks: true } }),
          suite.db.prisma.output.findMany({ where: { generationId: id } }),
          actionsOf(id),
        ]);
      const [before, wokenBefore] = [await rows(), wokenBy(id)];
      const ran = await act(id, action, { ...body, ...dry });
      expect([ran.status, ran.json()]).toMatchObject([200, { action, outcome, dry_run: true }]);
      expect(await rows()).toEqual(before);
      expect(wokenBy(id)).toEqual(wokenBefore);
    }
  });

  it('a refusal says why and what to do', async () => {
    const id = await waiting();
    const refused = await act(id, 'attach-job', JOB);
    expect(refused.json()).toMatchObject({
      code: 'action_not_possible',
      why: 'has_job',
      state: 'running',
      detail: `The submission has the job job-${id} already, and keeps it: observe it instead.`,
    });
    const ended = await created();
    await act(ended, 'cancel');
    expect((await act(ended, 'retry-storing')).json()['detail']).toBe(
      'It has ended as cancelled: one that has ended stays ended; a charge is taken back by a refund.',
    );
  });
});

describe('settling and refunding by hand', () => {
  const admin = (id: string, path: string, body: object) =>
    sendJson(suite.api.url, suite.operator.key, { path: `/admin/v1/generations/${id}/${path}`, body });

  it('as a dry run: tell the same, change nothing, wake nobody; then for real', async () => {
    const id = await waiting();
    const url = `http://ui.test/namespaces/default/workflows/${id}`;
    const resolution = { state: 'failed', reason: 'x' };
    const dry = await admin(id, 'resolution', { ...resolution, dry_run: true });
    expect([dry.status, dry.json()]).toMatchObject([
      200,
      { state: 'failed', dry_run: true, temporal_url: url },
    ]);
    expect(wokenBy(id)).toEqual(['created']);
    expect(await actionsOf(id)).toEqual([]);
    expect((await admin(id, 'resolution', resolution)).json()).toMatchObject({ dry_run: false });
  });

  it('a refund as a dry run leaves its reason free', async () => {
    const tenant = await newTenant(suite.db, { credits: 500 });
    const id = await created(tenant);
    await sendToProvider(suite.db, id);
    await accept(suite.db, id);
    await observe(suite.db, id, 'succeeded');
    await store(suite.db, id);
    await admin(id, 'resolution', { state: 'succeeded', reason: 'x' });
    const refund = { reason: 'bad-output', credits: 40 };
    for (let times = 0; times < 2; times += 1) {
      const dry = await admin(id, 'refunds', { ...refund, dry_run: true });
      expect([dry.status, dry.json()]).toMatchObject([
        200,
        { credits: 40, refunded_credits: 40, dry_run: true },
      ]);
    }
    const real = await admin(id, 'refunds', refund);
    expect([real.status, real.json()]).toMatchObject([
      201,
      { dry_run: false, temporal_url: `http://ui.test/namespaces/default/workflows/${id}` },
    ]);
  });
});
