import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { klingSimulator, signKling } from '../../src/simulators/kling.ts';
import { Control, eventually } from './control.ts';
import { startReceiver, type Receiver } from './receiver.ts';

// Plain HTTP as Kling's own pages show it; our adapter is not used here.
interface Envelope {
  readonly code: number;
  readonly message: string;
  readonly request_id: string;
  readonly data?: unknown;
}
interface Task {
  readonly id: string;
  readonly status: string;
  readonly update_time: number;
  readonly outputs: readonly { readonly type: string; readonly url: string; readonly duration: string }[];
  readonly billing: readonly object[];
}

const DAY_MS = 86_400_000;
let simulator: RunningSimulator;
let receiver: Receiver;
let control: Control;

beforeAll(async () => {
  simulator = await startSimulator(klingSimulator, { renderMs: 30, callbackRetryMs: [10] });
  control = new Control(simulator.url);
  receiver = await startReceiver();
});
afterAll(() => Promise.all([simulator.close(), receiver.close()]));

const call = async (method: string, path: string, body?: unknown, key = 'sim-key') => {
  const answer = await fetch(`${simulator.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Envelope };
};
const create = (prompt: string, options: object = {}, settings: object = {}) =>
  call('POST', '/text-to-video/kling-3.0', { prompt, settings, options });
const idOf = ({ body }: { body: Envelope }) => (body.data as { id: string }).id;
const tasksOf = ({ body }: { body: Envelope }) => body.data as readonly Task[];
const ended = (id: string) =>
  eventually(async () => {
    const [task] = tasksOf(await call('GET', `/tasks?task_ids=${id}`));
    return task?.status === 'succeeded' || task?.status === 'failed' ? task : undefined;
  });

describe('tasks', () => {
  test('the answers that the page shows', async () => {
    const made = await create('shown', { external_task_id: 'own-1' }, { duration: 10, aspect_ratio: '9:16' });
    expect(made).toMatchObject({ status: 200, body: { code: 0, message: 'SUCCEED' } });
    const created: unknown = expect.toSatisfy((ms: number) => Math.abs(Date.now() - ms) < 60_000);
    expect(made.body.data).toEqual({
      id: expect.stringMatching(/^\d{18}$/) as unknown,
      status: 'submitted',
      create_time: created,
      update_time: created,
      external_id: 'own-1',
    });
    const task = await ended(idOf(made));
    expect(task).toMatchObject({
      status: 'succeeded',
      message: '',
      external_id: 'own-1',
      outputs: [{ type: 'video', duration: '10' }],
      billing: [{ charge_type: 'unit', amount: '6.00', package_type: 'video' }],
    });
    expect((await fetch(task.outputs[0]!.url)).headers.get('content-type')).toBe('video/mp4');
    expect(tasksOf(await call('GET', '/tasks?external_task_ids=own-1,none')).map(({ id }) => id)).toEqual([
      task.id,
    ]);
  });

  test('image to video needs a first frame', async () => {
    const contents = [
      { type: 'prompt', text: 'framed' },
      { type: 'first_frame', url: 'https://h.example/a.png' },
    ];
    const made = await call('POST', '/image-to-video/kling-3.0-turbo', { contents });
    expect(await ended(idOf(made))).toMatchObject({ status: 'succeeded' });
    expect((await control.journal('framed')).jobs).toHaveLength(1);
    const without = await call('POST', '/image-to-video/kling-3.0', { contents: contents.slice(0, 1) });
    expect(without).toMatchObject({ status: 400, body: { code: 1201 } });
  });

  test('outputs are cleared 30 days after the last update', async () => {
    const task = await ended(idOf(await create('cleared')));
    await control.post(`jobs/${task.id}`, { expires_at: Math.floor(Date.now() / 1_000) - 1 });
    const [old] = tasksOf(await call('GET', `/tasks?task_ids=${task.id}`));
    expect(old).toMatchObject({ status: 'succeeded', outputs: [] });
    expect(old!.update_time + 30 * DAY_MS).toBeLessThan(Date.now());
    expect((await fetch(task.outputs[0]!.url)).status).toBe(404);
  });

  test.each([
    ['a wrong key', 'GET', '/tasks?task_ids=1', undefined, 401, 1002],
    ['an unknown route', 'DELETE', '/tasks/1', undefined, 404, 1202],
    ['neither kind of id', 'GET', '/tasks', undefined, 400, 1201],
    ['both kinds of id', 'GET', '/tasks?task_ids=1&external_task_ids=2', undefined, 400, 1201],
    ['no prompt', 'POST', '/text-to-video/kling-3.0', {}, 400, 1201],
    ['a field of the older API', 'POST', '/text-to-video/kling-3.0', { prompt: 'x', mode: 'pro' }, 400, 1201],
    ['too long', 'POST', '/text-to-video/kling-3.0', { prompt: 'x', settings: { duration: 16 } }, 400, 1201],
    ['a page too large', 'POST', '/tasks', { limit: 501 }, 400, 1201],
    ['an unknown cursor', 'POST', '/tasks', { cursor: 'x' }, 400, 1201],
  ])('%s', async (name, method, path, body, status, code) => {
    const key = name === 'a wrong key' ? 'wrong' : 'sim-key';
    expect(await call(method, path, body, key)).toMatchObject({ status, body: { code } });
  });

  test('an id that is not there is an empty list; several at once', async () => {
    const [a, b] = [idOf(await create('one of two')), idOf(await create('two of two'))];
    expect(tasksOf(await call('GET', '/tasks?task_ids=123'))).toEqual([]);
    expect(tasksOf(await call('GET', `/tasks?task_ids=${a},${b},123`))).toHaveLength(2);
  });

  test('an external id is taken once, also when the first answer was lost', async () => {
    await control.fault('taken once', { kind: 'status_5xx_after_accept', status: 500 });
    const send = () => create('taken once', { external_task_id: 'own-2' });
    expect(await send()).toMatchObject({ status: 500, body: { code: 5000 } });
    const second = await send();
    expect(second).toMatchObject({ status: 400, body: { code: 1201 } });
    expect(second.body.message).toContain('external_task_id');
    expect((await control.journal('taken once')).jobs).toHaveLength(1);
  });

  test('the list: newest first, by cursor, by status', async () => {
    const ids = [];
    for (const n of [1, 2, 3]) ids.unshift(idOf(await create(`listed ${n}`)));
    const first = (await call('POST', '/tasks', { limit: 2, start_time: '0', cursor: '' })).body.data;
    expect(first).toMatchObject({ result: [{ id: ids[0] }, { id: ids[1] }], count: 2, has_more: true });
    const { next_cursor: cursor } = first as { next_cursor: string };
    const second = (await call('POST', '/tasks', { limit: 2, cursor })).body.data;
    expect(second).toMatchObject({ result: [{ id: ids[2] }, {}] });
    await Promise.all(ids.map(ended));
    const filters = [{ key: 'status', values: ['submitted'] }];
    expect((await call('POST', '/tasks', { filters })).body.data).toMatchObject({
      count: 0,
      has_more: false,
    });
  });

  test('faults in its own words', async () => {
    const refusals = [
      [{ kind: 'error_in_200' }, 200, 5001],
      [{ kind: 'status_429' }, 429, 1302],
      [{ kind: 'refuse_content' }, 400, 1301],
      [{ kind: 'refuse', status: 429, code: '1102' }, 429, 1102],
    ] as const;
    for (const [fault, status, code] of refusals) {
      const prompt = `words of ${fault.kind}`;
      await control.fault(prompt, fault);
      expect(await create(prompt)).toMatchObject({ status, body: { code } });
    }
    await control.fault('words of moderation', { kind: 'moderated' });
    expect(await ended(idOf(await create('words of moderation')))).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('risk control') as unknown,
      billing: [],
    });
  });
});

describe('callbacks', () => {
  const of = (id: string) =>
    receiver.received
      .map(({ headers, body }) => ({ headers, task: JSON.parse(body.toString()) as Task }))
      .filter(({ task }) => task.id === id);
  const last = (id: string) => eventually(() => of(id).find(({ task }) => task.status === 'succeeded'));

  test('the bare task at every change, unsigned', async () => {
    const id = idOf(await create('announced', { callback_url: receiver.url }));
    const { headers } = await last(id);
    const seen = await eventually(() => (of(id).length >= 3 ? of(id) : undefined));
    const statuses = seen.map(({ task }) => task.status);
    expect(new Set(statuses)).toEqual(new Set(['submitted', 'processing', 'succeeded']));
    expect(Object.keys(headers).filter((name) => name.startsWith('webhook-'))).toEqual([]);
    expect((await last(id)).task).toEqual(await ended(id));
  });

  test('signed once a secret is made, until a reset', async () => {
    await control.post('secrets', { secrets: ['whsec_b25l', 'whsec_dHdv'] });
    const id = idOf(await create('signed', { callback_url: receiver.url }));
    const { headers } = await last(id);
    expect(headers['webhook-signature']).toMatch(/^v1,\S{43}= v1,\S{43}=$/);
    await control.post('reset');
    const later = idOf(await create('unsigned again', { callback_url: receiver.url }));
    expect((await last(later)).headers['webhook-id']).toBeUndefined();
  });

  test("the signature of Kling's own example", () => {
    const body = Buffer.from(
      '{"id":"1234567890","status":"succeeded","message":"","create_time":1781080778802,"update_time":1781080794151}',
    );
    const secret = 'whsec_dGVzdHNlY3JldHRlc3RzZWNyZXR0ZXN0c2VjcmV0MTI=';
    const headers = signKling('9876543210', body, [secret], 1_781_080_794_999);
    expect(headers).toEqual({
      'webhook-id': '9876543210',
      'webhook-timestamp': '1781080794',
      'webhook-signature': 'v1,UsKlJP00XoQyOn410NM9xv34sP+Gl0jnOO9Lcpr7NJ4=',
    });
    const key = Buffer.from('testsecrettestsecrettestsecret12');
    const hmac = createHmac('sha256', key).update('9876543210.1781080794.').update(body).digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${hmac}`);
  });
});
