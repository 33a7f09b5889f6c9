import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { minimaxSimulator } from '../../src/simulators/minimax.ts';
import { Control, eventually } from './control.ts';

// Plain HTTP as MiniMax's own pages show it; our adapter is not used here.
interface Task {
  readonly id: string;
  readonly status: string;
  readonly content?: { readonly url: string } | null;
}
interface Body {
  readonly task_id: string;
  readonly task: Task;
  readonly error: { readonly type: string; readonly message: string };
}

let simulator: RunningSimulator;
let control: Control;

beforeAll(async () => {
  simulator = await startSimulator(minimaxSimulator, { renderMs: 30 });
  control = new Control(simulator.url);
});
afterAll(() => simulator.close());

const call = async (method: string, path: string, body?: unknown, key = 'sim-key') => {
  const answer = await fetch(`${simulator.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Body };
};
const text = (prompt: string) => ({ type: 'text', text: prompt });
const frame = (role?: string) => ({
  type: 'image_url',
  image_url: { url: 'https://h.example/a.png' },
  ...(role === undefined ? {} : { role }),
});
const valid = { model: 'MiniMax-H3', resolution: '768P', duration: 4, ratio: '16:9' };
const create = (prompt: string, more: object = {}) =>
  call('POST', '/v2/video_generation', { ...valid, content: [text(prompt)], ...more });
const query = async (id: string) => (await call('GET', `/v2/query/video_generation/${id}`)).body.task;
const remove = (id: string) => call('DELETE', `/v2/video_generation/${id}`);
const made = async (prompt: string, more: object = {}) => (await create(prompt, more)).body.task_id;
const ended = (id: string) =>
  eventually(async () => {
    const task = await query(id);
    return task.status === 'queued' || task.status === 'running' ? undefined : task;
  });

describe('tasks', () => {
  test('the answers that its pages show', async () => {
    const answer = await create('shown', { duration: 5, resolution: '2K', ratio: '9:16' });
    expect(answer).toEqual({ status: 200, body: { task_id: expect.stringMatching(/^\d{15}$/) as unknown } });
    const task = await ended(answer.body.task_id);
    const seconds: unknown = expect.toSatisfy((s: number) => Math.abs(Date.now() / 1_000 - s) < 60);
    expect(task).toEqual({
      id: answer.body.task_id,
      model: 'MiniMax-H3',
      status: 'succeeded',
      created_at: seconds,
      updated_at: seconds,
      content: { url: expect.stringContaining('/files/') as unknown },
      resolution: '2K',
      duration: 5,
      usage: { total_seconds: 5, input_seconds: 0, output_seconds: 5, input_image_count: 0 },
      ratio: '9:16',
      task_type: 'generation',
      modality: 'video',
    });
    expect((await fetch(task.content!.url)).headers.get('content-type')).toBe('video/mp4');
  });

  test('a first frame gives the shape, named or not', async () => {
    for (const role of ['first_frame', undefined]) {
      const id = await made(`framed ${role}`, { content: [text(`framed ${role}`), frame(role)] });
      expect(await ended(id)).toMatchObject({
        status: 'succeeded',
        ratio: 'adaptive',
        usage: { input_image_count: 1 },
      });
      expect((await control.journal(`framed ${role}`)).jobs[0]).toMatchObject({
        input: { source: 'link', answer: 'not_fetched' },
      });
    }
  });

  test.each([
    ['no text', { content: [frame('first_frame')] }, 'non-empty text'],
    ['an empty text', { content: [text(' ')] }, 'content.0.text'],
    ['no duration', { duration: undefined }, 'duration'],
    ['too short', { duration: 3 }, 'duration'],
    ['too short for the fast model', { model: 'MiniMax-H3-Max' }, 'duration'],
    ['no resolution', { resolution: undefined }, 'resolution'],
    ['a resolution of the fast model', { resolution: '480P' }, 'resolution'],
    ['a model of version 1', { model: 'MiniMax-Hailuo-02' }, 'model'],
    ['no shape for a text', { ratio: undefined }, 'ratio'],
    ['an adaptive shape for a text', { ratio: 'adaptive' }, 'ratio'],
    ['two first frames', { content: [text('x'), frame('first_frame'), frame()] }, 'first_frame'],
    [
      'frame and reference',
      { content: [text('x'), frame('first_frame'), frame('reference_image')] },
      'mixed',
    ],
    ['a field of version 1', { first_frame_image: 'x' }, 'invalid params'],
  ])('%s is bad input', async (_name, more, message) => {
    const answer = await create('refused', more);
    expect(answer).toMatchObject({
      status: 400,
      body: { type: 'error', error: { type: 'bad_request_error' } },
    });
    expect(answer.body.error.message).toContain(message);
    expect(answer.body.error.message).toMatch(/ \(2013\)$/);
    expect((await control.journal('refused')).jobs).toEqual([]);
  });

  test('a wrong key, a task that is not there', async () => {
    const wrong = await call('GET', '/v2/query/video_generation/1', undefined, 'wrong');
    expect(wrong).toMatchObject({
      status: 401,
      body: { error: { type: 'authorized_error', message: expect.stringMatching(/\(1004\)$/) as unknown } },
    });
    const none = await call('GET', '/v2/query/video_generation/1');
    expect(none.status).toBe(400);
    expect(none.body.error.message).toContain('invalid task_id');
    expect((await remove('1')).status).toBe(400);
  });

  test('DELETE cancels what is queued, refuses what runs or is cancelled, removes what has ended', async () => {
    await control.fault('queued for long', { kind: 'render_ms', ms: 600_000 });
    const queued = await made('queued for long');
    expect(await remove(queued)).toEqual({
      status: 200,
      body: { task_id: queued, action: 'cancelled', status: 'cancelled' },
    });
    expect(await query(queued)).toMatchObject({ status: 'cancelled' });
    expect((await remove(queued)).status).toBe(400);

    await control.fault('runs for ever', { kind: 'stuck' });
    const running = await made('runs for ever');
    await eventually(async () => ((await query(running)).status === 'running' ? true : undefined));
    expect((await remove(running)).status).toBe(400);
    expect(await query(running)).toMatchObject({ status: 'running' });

    const done = await made('done');
    await ended(done);
    expect((await remove(done)).body).toMatchObject({ action: 'deleted' });
    expect((await call('GET', `/v2/query/video_generation/${done}`)).status).toBe(400);
  });

  test('faults in its own words', async () => {
    const words = [
      [{ kind: 'status_429' }, 429, 'rate_limit_error', 1002],
      [{ kind: 'refuse_content' }, 422, 'unprocessable_entity_error', 1026],
      [{ kind: 'status_5xx', status: 529 }, 529, 'overloaded_error', 1000],
      [
        { kind: 'refuse', status: 402, type: 'insufficient_balance_error', code: '1008' },
        402,
        'insufficient_balance_error',
        1008,
      ],
    ] as const;
    for (const [fault, status, type, code] of words) {
      const prompt = `words of ${fault.kind}.`;
      await control.fault(prompt, fault);
      const answer = await create(prompt);
      expect(answer).toMatchObject({ status, body: { error: { type } } });
      expect(answer.body.error.message).toContain(`(${code})`);
    }
    await control.fault('words of moderation', { kind: 'moderated' });
    expect(await ended(await made('words of moderation'))).toMatchObject({
      status: 'failed',
      error: { code: '1027' },
      usage: {},
    });
  });
});
