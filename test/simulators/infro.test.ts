import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { IdempotencyKeys } from '../../src/simulators/idempotency.ts';
import { infroSimulator, signInfro } from '../../src/simulators/infro.ts';
import { Control, eventually } from './control.ts';

// Plain HTTP as INFRO's documentation shows it; our adapter is not used here.
const AUTH = { authorization: 'Bearer sim-key' };

interface JobJson {
  readonly id: string;
  readonly status: string;
  readonly output: { readonly url?: string; readonly expires_at?: number } | null;
  readonly usage: { readonly cost: number | null };
  readonly error: { readonly code: string } | null;
}

let simulator: RunningSimulator;
let control: Control;

beforeAll(async () => {
  simulator = await startSimulator(infroSimulator, { renderMs: 40 });
  control = new Control(simulator.url);
});
afterAll(() => simulator.close());

const call = (
  path: string,
  init: { method?: string; body?: string; headers?: Record<string, string> } = {},
) => fetch(`${simulator.url}${path}`, { ...init, headers: { ...AUTH, ...init.headers } });
const submit = (body: unknown, headers: Record<string, string> = {}) =>
  call('/v1/videos', {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  });
const video = (prompt: string) => ({ model: 'm-video', prompt, duration_seconds: 3 });
const newJob = async (prompt: string) => (await (await submit(video(prompt))).json()) as JobJson;
const get = async (id: string) => (await (await call(`/v1/jobs/${id}`)).json()) as JobJson;
const ended = (id: string) =>
  eventually(async () => {
    const job = await get(id);
    return ['queued', 'running'].includes(job.status) ? undefined : job;
  });
const list = async (query: string) =>
  (await (await call(`/v1/jobs?${query}`)).json()) as {
    data: JobJson[];
    has_more: boolean;
    next_cursor: string | null;
  };
const errorOf = async (answer: Response) => ({
  status: answer.status,
  ...((await answer.json()) as { error: { type: string; code: string } }).error,
});

describe('submit', () => {
  test('202, queued, then running, then succeeded with a cost and a link that works', async () => {
    const startMs = Date.now();
    const answer = await submit(video('whole life'));
    expect(answer.status).toBe(202);
    const job = (await answer.json()) as JobJson;
    expect(job).toMatchObject({ status: 'queued', output: null, usage: { cost: null } });
    const done = await ended(job.id);
    expect(done).toMatchObject({ id: job.id, status: 'succeeded', usage: { cost: 0.15 } });
    // A day after it ended, in whole seconds.
    const endedMs = (done.output?.expires_at ?? 0) * 1_000 - 86_400_000;
    expect(endedMs).toBeGreaterThan(startMs - 1_000);
    expect(endedMs).toBeLessThan(Date.now() + 1_000);
    const file = await fetch(done.output?.url ?? '');
    expect(file.headers.get('content-type')).toBe('video/mp4');
    expect((await file.arrayBuffer()).byteLength).toBe(Number(file.headers.get('content-length')));
  });

  test('idempotency: the first 202 is replayed byte for byte', async () => {
    const headers = { 'idempotency-key': 'replay' };
    const first = await (await submit(video('replayed'), headers)).text();
    await ended((JSON.parse(first) as JobJson).id);
    const again = await submit(video('replayed'), headers);
    expect(again.status).toBe(202);
    expect(await again.text()).toBe(first);
    expect((await control.journal('replayed')).jobs).toMatchObject([
      { submits: 2, idempotency_key: 'replay' },
    ]);
  });

  test('idempotency: a key is forgotten after its time', async () => {
    const keys = new IdempotencyKeys(20);
    const body = Buffer.from('{}');
    keys.begin('k', body).store({ answer: { status: 202, body }, jobId: 'job_1' });
    expect(keys.check('k', body).kind).toBe('replay');
    await eventually(() => (keys.check('k', body).kind === 'new' ? true : undefined));
  });

  test('idempotency: another body, a key in flight, an endless key', async () => {
    const headers = { 'idempotency-key': 'strict' };
    await control.fault('strict', { kind: 'slow_submit', ms: 2_000 });
    const first = submit(video('strict'), headers);
    await eventually(async () => ((await control.journal('strict')).jobs.length > 0 ? true : undefined));
    expect(await errorOf(await submit(video('strict'), headers))).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      code: 'idempotency_key_in_progress',
    });
    expect(await errorOf(await submit(video('strict 2'), headers))).toMatchObject({
      status: 400,
      code: 'idempotency_key_reuse',
    });
    expect((await first).status).toBe(202);
    const endless = await submit(video('x'), { 'idempotency-key': 'k'.repeat(256) });
    expect(endless.status).toBe(400);
    expect((await submit(video('x'), { 'idempotency-key': 'k'.repeat(255) })).status).toBe(202);
  });

  test('a refused submit leaves its key free', async () => {
    const headers = { 'idempotency-key': 'free' };
    expect((await submit({ model: 'm-video' }, headers)).status).toBe(400);
    expect((await submit(video('free'), headers)).status).toBe(202);
  });

  test.each([
    ['no JSON', '{', 'invalid_parameter'],
    ['no prompt', { model: 'm-video' }, 'invalid_parameter'],
    ['duration', { ...video('x'), duration_seconds: 0 }, 'invalid_parameter'],
    ['model', { ...video('x'), model: 'veo' }, 'model_not_found'],
    ['webhook', { ...video('x'), webhook: { url: 'ftp://h' } }, 'invalid_parameter'],
    ['unknown member', { ...video('x'), seed: 1 }, 'unknown_parameter'],
  ])('validation: %s', async (_name, body, code) => {
    expect(await errorOf(await submit(body))).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      code,
    });
  });

  test('key, route, content type, size', async () => {
    expect((await fetch(`${simulator.url}/v1/jobs`)).status).toBe(401);
    expect((await call('/v1/nothing')).status).toBe(404);
    expect((await submit(video('x'), { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await submit(video('y'.repeat(8 * 1024 * 1024)))).status).toBe(413);
  });
});

describe('jobs', () => {
  test('a cancel ends the tracking and does not stop the render', async () => {
    await control.fault('cancelled early', { kind: 'render_ms', ms: 2_000 });
    const job = await newJob('cancelled early');
    const answer = await call(`/v1/jobs/${job.id}/cancel`, { method: 'POST' });
    expect(await answer.json()).toMatchObject({ status: 'canceled', usage: { cost: null } });
    const entry = await eventually(async () => {
      const [found] = (await control.journal('cancelled early')).jobs;
      return found?.renders_done === 1 ? found : undefined;
    });
    expect(entry).toMatchObject({ status: 'cancelled', cancels: 1 });
    expect(await get(job.id)).toMatchObject({ status: 'canceled', output: null });
  });

  test('a cancel after the end answers succeeded', async () => {
    const job = await newJob('cancelled late');
    await ended(job.id);
    const answer = await call(`/v1/jobs/${job.id}/cancel`, { method: 'POST' });
    expect(await answer.json()).toMatchObject({ status: 'succeeded', usage: { cost: 0.15 } });
  });

  test('after its expiry the link is 404, output null, and the job is still readable', async () => {
    const job = await newJob('expires');
    const { output } = await ended(job.id);
    await control.post(`jobs/${job.id}`, { expires_at: Math.floor(Date.now() / 1_000) - 1 });
    expect((await fetch(output?.url ?? '')).status).toBe(404);
    expect(await get(job.id)).toMatchObject({ status: 'succeeded', output: null, usage: { cost: 0.15 } });
  });

  test('list: repeated status, limit, cursor', async () => {
    await control.fault('listed', { kind: 'stuck' });
    const ids = [];
    for (const n of [1, 2, 3]) ids.unshift((await newJob(`listed ${n}`)).id);
    const first = await list('status=queued&status=running&limit=2');
    expect(first).toMatchObject({ data: [{ id: ids[0] }, { id: ids[1] }], has_more: true });
    const second = await list(`status=queued&status=running&limit=2&after=${first.next_cursor}`);
    expect(second.data[0]?.id).toBe(ids[2]);
    expect((await list('status=failed&limit=100')).data.map(({ status }) => status)).not.toContain('queued');
    for (const bad of ['limit=0', 'limit=101', 'limit=x', 'status=done', 'after=nothing']) {
      expect((await call(`/v1/jobs?${bad}`)).status).toBe(400);
    }
  });

  test('an error says which code failed', async () => {
    await control.fault('fails', { kind: 'fail', code: 'gpu_lost' });
    const job = await newJob('fails');
    expect(await ended(job.id)).toMatchObject({
      status: 'failed',
      error: { code: 'gpu_lost' },
      output: null,
    });
  });
});

describe('control', () => {
  test('faults: counted, bounded by times, matched by prompt, checked', async () => {
    await control.fault('counted', { kind: 'status_5xx', times: 1 });
    expect((await submit(video('other'))).status).toBe(202);
    expect((await submit(video('counted'))).status).toBe(503);
    expect((await submit(video('counted'))).status).toBe(202);
    const fault = (await control.faults()).find((f) => f.match?.prompt === 'counted');
    expect(fault).toMatchObject({ kind: 'status_5xx', struck: 1 });
    await expect(control.post('faults', { kind: 'no such' })).rejects.toThrow('400');
    await expect(control.post('nothing')).rejects.toThrow('404');
  });

  test('the journal keeps every POST, also those that accepted nothing', async () => {
    await control.fault('all posts', { kind: 'reset_before_accept' });
    await expect(submit(video('all posts'))).rejects.toThrow('fetch failed');
    const journal = await control.journal('all posts');
    expect(journal.jobs).toEqual([]);
    expect(journal.requests).toMatchObject([{ method: 'POST', path: '/v1/videos', prompt: 'all posts' }]);
  });

  test('reset forgets everything, keys and secrets too', async () => {
    const own = await startSimulator(infroSimulator, { renderMs: 10_000 });
    try {
      const ownControl = new Control(own.url);
      const post = () =>
        fetch(`${own.url}/v1/videos`, {
          method: 'POST',
          headers: { ...AUTH, 'content-type': 'application/json', 'idempotency-key': 'same' },
          body: JSON.stringify(video('reset')),
        });
      const { id } = (await (await post()).json()) as JobJson;
      await ownControl.post('secrets', { secrets: ['whsec_other'] });
      await ownControl.post('reset');
      expect((await ownControl.journal()).totals).toMatchObject({ submits: 0, accepted: 0 });
      expect(((await (await post()).json()) as JobJson).id).not.toBe(id);
    } finally {
      await own.close();
    }
  });
});

test('the signature is what the documentation says: hex HMAC of "{t}." and body, the whole secret as key', () => {
  const body = Buffer.from('{"id":"evt_1"}');
  const expected = createHmac('sha256', 'whsec_a').update('1764000000.{"id":"evt_1"}').digest('hex');
  const header = signInfro(body, ['whsec_a', 'whsec_b'], 1_764_000_000_999)['infro-signature'];
  expect(header).toMatch(new RegExp(`^t=1764000000,v1=${expected},v1=[0-9a-f]{64}$`));
});
