import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { videosSimulator } from '../../src/simulators/openaivideos.ts';
import { Control, eventually } from './control.ts';

const KEY = { authorization: 'Bearer sim-key' };

describe.each(['openai', 'aggregator'] as const)('the simulator as %s: what it takes', (shape) => {
  let simulator: RunningSimulator;
  let control: Control;
  beforeAll(async () => {
    simulator = await startSimulator(videosSimulator(shape), { renderMs: 20 });
    control = new Control(simulator.url);
  });
  afterAll(() => simulator.close());

  const post = async (body: string | FormData | Buffer, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${simulator.url}/v1/videos`, {
      method: 'POST',
      body,
      headers: { ...KEY, ...headers },
    });
    return {
      status: answer.status,
      body: (await answer.json()) as { id?: string; error?: { code: string | null; message: string } },
    };
  };
  const json = (value: object, headers: Record<string, string> = {}) =>
    post(JSON.stringify(value), { 'content-type': 'application/json', ...headers });
  const form = (fields: Readonly<Record<string, string>>) => {
    const data = new FormData();
    for (const [name, value] of Object.entries(fields)) data.append(name, value);
    return post(data);
  };

  test('forms and JSON alike', async () => {
    for (const send of [form, json]) {
      const { status, body } = await send({
        prompt: 'tide',
        model: 'sora-2',
        seconds: '8',
        size: '1280x720',
      });
      expect([status, body]).toMatchObject([200, { object: 'video', seconds: '8', size: '1280x720' }]);
    }
  });

  test.each([
    [{}, 'prompt'],
    [{ prompt: '' }, 'prompt'],
    [{ prompt: 'x', seconds: 8 }, 'seconds as a number'],
    [{ prompt: 'x', seconds: '0' }, 'seconds'],
    [{ prompt: 'x', size: '1x1' }, 'size'],
    [{ prompt: 'x', input_reference: { url: 'https://a.example/' } }, 'input_reference'],
    [{ prompt: 'x', duration: 5 }, 'an unknown member'],
  ])('%o is refused: %s', async (body, _what) => {
    expect(await json(body)).toMatchObject({ status: 400, body: { error: { code: 'invalid_value' } } });
  });

  test('a body that is neither, or a form that breaks off', async () => {
    const unsupported = { status: 415, body: { error: { code: 'unsupported_media_type' } } };
    expect(await post('prompt=x', { 'content-type': 'application/x-www-form-urlencoded' })).toMatchObject(
      unsupported,
    );
    const whole = '--b\r\nContent-Disposition: form-data; name="prompt"\r\n\r\nx\r\n--b--\r\n';
    const type = { 'content-type': 'multipart/form-data; boundary=b' };
    expect((await post(whole, type)).status).toBe(200);
    expect((await post(whole.trimEnd(), type)).status).toBe(200);
    expect(await post(whole.slice(0, -6), type)).toMatchObject(unsupported);
    expect(await post(whole, { 'content-type': 'multipart/form-data' })).toMatchObject(unsupported);
    expect(await post(whole, { 'content-type': 'multipart/form-data; boundary=other' })).toMatchObject(
      unsupported,
    );
  });

  test('a text of a form has a mebibyte at most, as at Starlette and busboy; a file and JSON have more', async () => {
    const most = 1024 * 1024;
    const image = (bytes: number) => `data:image/png;base64,${'A'.repeat(bytes - 22)}`;
    const asField = (bytes: number) =>
      form({ prompt: 'large', 'input_reference[image_url]': image(bytes) }).then(({ status }) => status);
    expect([await asField(most - 1), await asField(most + 1)]).toEqual([200, 400]);
    expect(await form({ prompt: 'x'.repeat(most + 1) })).toMatchObject({
      body: { error: { code: 'invalid_value', message: expect.stringContaining('1024KB') as string } },
    });
    const data = new FormData();
    data.append('prompt', 'large');
    data.append('input_reference', new Blob([new Uint8Array(most + 1)], { type: 'image/png' }), 'a.png');
    expect((await post(data)).status).toBe(200);
    expect((await json({ prompt: 'large', input_reference: { image_url: image(most + 4) } })).status).toBe(
      200,
    );
  });

  test('what only an aggregator takes', async () => {
    const is = (taken: boolean) => ({ status: taken === (shape === 'aggregator') ? 200 : 400 });
    expect(await json({ prompt: 'x', seconds: '5' })).toMatchObject(is(true));
    expect(await json({ prompt: 'x', callback_url: 'http://127.0.0.1:9/x' })).toMatchObject(is(true));
    expect(await json({ prompt: 'x', input_reference: 'http://127.0.0.1:9/x.png' })).toMatchObject(is(true));
  });

  test('an idempotency key is replayed by an aggregator, and means nothing to OpenAI', async () => {
    const key = { 'idempotency-key': 'k-1' };
    const [first, second] = [await json({ prompt: 'again' }, key), await json({ prompt: 'again' }, key)];
    expect(first.body.id === second.body.id).toBe(shape === 'aggregator');
    expect((await json({ prompt: 'other' }, key)).status).toBe(shape === 'aggregator' ? 400 : 200);
  });

  test('content: with the key only, of a finished video only, until it expires', async () => {
    const { id = '' } = (await json({ prompt: 'content' })).body;
    const content = (headers: Record<string, string> = KEY, query = '') =>
      fetch(`${simulator.url}/v1/videos/${id}/content${query}`, { headers });
    const file = await eventually(async () => {
      const answer = await content();
      return answer.status === 200 ? answer : undefined;
    });
    expect(file.headers.get('content-type')).toBe('video/mp4');
    expect((await content({})).status).toBe(401);
    expect((await content(KEY, '?variant=thumbnail')).status).toBe(400);
    await control.post(`jobs/${id}`, { expires_at: Math.floor(Date.now() / 1_000) - 1 });
    expect((await content()).status).toBe(404);
    const shown = await fetch(`${simulator.url}/v1/videos/${id}`, { headers: KEY });
    expect(await shown.json()).toMatchObject({ status: 'completed' });
  });
});
