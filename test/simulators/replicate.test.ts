import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { replicateSimulator } from '../../src/simulators/replicate.ts';
import { Control, eventually } from './control.ts';
import { startReceiver, type Receiver } from './receiver.ts';

interface Prediction {
  readonly id: string;
  readonly status: string;
  readonly output: unknown;
  readonly data_removed: boolean;
  /** Of a page. */
  readonly results?: readonly Prediction[];
}

const VERSION = '9dcd'.repeat(16);

let simulator: RunningSimulator;
let control: Control;
let receiver: Receiver;
let made = 0;

beforeAll(async () => {
  simulator = await startSimulator(replicateSimulator, { renderMs: 20, callbackRetryMs: [10] });
  control = new Control(simulator.url);
});
afterAll(() => simulator.close());
beforeEach(async () => {
  const started = await startReceiver();
  receiver = started;
  await control.post('reset');
  return () => started.close();
});

const newPrompt = () => `replicate ${++made}.`;
const call = async (method: string, path: string, body?: unknown, key = 'sim-key') => {
  const answer = await fetch(`${simulator.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Prediction };
};
const submit = async (input: object, members: object = {}, path = '/v1/models/owner/name/predictions') =>
  (await call('POST', path, { input, ...members })).body;
const ended = (id: string) =>
  eventually(async () => {
    const { body } = await call('GET', `/v1/predictions/${id}`);
    return ['starting', 'processing'].includes(body.status) ? undefined : body;
  });

describe('predictions', () => {
  test('the shape that the documentation shows', async () => {
    const { status, body } = await call('POST', '/v1/predictions', {
      version: VERSION,
      input: { prompt: newPrompt() },
    });
    expect(status).toBe(201);
    const url = `${simulator.url}/v1/predictions/${body.id}`;
    expect(body).toMatchObject({
      id: expect.stringMatching(/^[a-z0-9]{26}$/) as string,
      version: VERSION,
      status: 'starting',
      output: null,
      error: null,
      data_removed: false,
      urls: { get: url, cancel: `${url}/cancel` },
    });
  });

  test.each([
    ['/v1/models/owner/name/predictions', { prompt: 'p' }, 'video/mp4', false],
    [
      '/v1/models/black-forest-labs/flux-schnell/predictions',
      { prompt: 'p', num_outputs: 2 },
      'image/png',
      true,
    ],
    ['/v1/deployments/me/app/predictions', { text: 'p' }, 'audio/wav', false],
  ])('POST %s', async (path, input, type, isList) => {
    const { output } = await ended((await submit(input, {}, path)).id);
    expect(Array.isArray(output)).toBe(isList);
    const [first] = [output].flat() as string[];
    expect((await fetch(first ?? '')).headers.get('content-type')).toBe(type);
  });

  test.each([
    ['no input', { version: VERSION }],
    ['no text in it', { version: VERSION, input: { seed: 1 } }],
    ['no version', { input: { prompt: 'p' } }],
    ['a webhook that is no URL', { version: VERSION, input: { prompt: 'p' }, webhook: 'x' }],
    ['an unknown event', { version: VERSION, input: { prompt: 'p' }, webhook_events_filter: ['end'] }],
  ])('%s is refused', async (_name, body) => {
    expect(await call('POST', '/v1/predictions', body)).toMatchObject({
      status: 422,
      body: { title: 'Input validation failed', status: 422 },
    });
  });

  test('no key, an unknown one, an unknown path', async () => {
    const { id } = await submit({ prompt: newPrompt() });
    expect(await call('GET', `/v1/predictions/${id}`, undefined, 'other')).toMatchObject({ status: 401 });
    expect(await call('GET', '/v1/predictions/none')).toMatchObject({
      status: 404,
      body: { detail: expect.stringMatching(/could not be/) as string },
    });
    expect(await call('POST', '/v1/trainings', {})).toMatchObject({ status: 404 });
  });

  test('data is removed an hour after the end', async () => {
    const { id } = await submit({ prompt: newPrompt() });
    const { output } = await ended(id);
    await control.post(`jobs/${id}`, { expires_at: Math.floor(Date.now() / 1_000) - 1 });
    expect((await call('GET', `/v1/predictions/${id}`)).body).toMatchObject({
      status: 'succeeded',
      output: null,
      input: {},
      logs: null,
      data_removed: true,
    });
    expect((await fetch(String(output))).status).toBe(404);
  });

  test('aborted, moderated, failed, cancelled', async () => {
    const [aborted, moderated, failed, cancelled] = [newPrompt(), newPrompt(), newPrompt(), newPrompt()];
    await control.fault(aborted, { kind: 'stuck' });
    await control.fault(moderated, { kind: 'moderated' });
    await control.fault(failed, { kind: 'fail', code: 'gpu_lost' });
    await control.fault(cancelled, { kind: 'stuck' });
    const { id } = await submit({ prompt: aborted });
    await control.post(`jobs/${id}`, { status: 'cancelled', error_code: 'aborted' });
    expect(await ended(id)).toMatchObject({ status: 'aborted', output: null });
    expect(await ended((await submit({ prompt: moderated })).id)).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/\(E005\)$/) as string,
    });
    expect(await ended((await submit({ prompt: failed })).id)).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/gpu_lost/) as string,
    });
    const open = await submit({ prompt: cancelled });
    expect(await call('POST', `/v1/predictions/${open.id}/cancel`)).toMatchObject({
      status: 200,
      body: { id: open.id, status: 'canceled' },
    });
  });

  test('the list can be limited by time; an unknown cursor is told', async () => {
    const { id } = await submit({ prompt: newPrompt() });
    const list = (query: string) => call('GET', `/v1/predictions?${query}`);
    const [past, future] = ['2020-01-01T00:00:00Z', '2999-01-01T00:00:00Z'];
    const results = async (query: string) => (await list(query)).body.results?.map((found) => found.id);
    expect(await results(`created_after=${past}`)).toEqual([id]);
    expect(await results(`created_before=${past}`)).toEqual([]);
    expect(await results(`created_after=${future}`)).toEqual([]);
    expect(await list('cursor=bm9uZQ')).toMatchObject({ status: 404, body: { detail: 'Invalid cursor' } });
  });
});

describe('webhooks', () => {
  const received = (count: number) =>
    eventually(() => (receiver.received.length >= count ? receiver.received : undefined));
  const statuses = () =>
    receiver.received.map(({ body }) => (JSON.parse(body.toString()) as Prediction).status);

  test('by default the end only; with a filter what it names', async () => {
    const webhook = `${receiver.url}/hook`;
    await submit({ prompt: newPrompt() }, { webhook });
    await received(1);
    expect(statuses()).toEqual(['succeeded']);
    receiver.received.length = 0;
    await ended((await submit({ prompt: newPrompt() }, { webhook, webhook_events_filter: ['start'] })).id);
    await received(1);
    expect(statuses()).toEqual(['processing']);
  });

  test('a re-send has the same id, and its own time and signature', async () => {
    receiver.answer = (delivery) => (delivery === 1 ? 500 : 200);
    await submit({ prompt: newPrompt() }, { webhook: `${receiver.url}/hook` });
    const [first, second] = await received(2);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect(first?.headers['webhook-id']).toMatch(/^msg_[0-9a-f]{32}$/);
    expect(second?.body).toEqual(first?.body);
  });

  test('rotation: one signature per active secret', async () => {
    await control.post('secrets', { secrets: ['whsec_b25l', 'whsec_dHdv'] });
    await submit({ prompt: newPrompt() }, { webhook: `${receiver.url}/hook` });
    const [got] = await received(1);
    expect(got?.headers['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/);
    expect((await call('GET', '/v1/webhooks/default/secret')).body).toEqual({ key: 'whsec_b25l' });
  });
});
