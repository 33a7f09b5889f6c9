import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createClient, WaitTimeoutError, type GenerationEvent } from '../../src/client/index.ts';
import { json, startServer, type Seen } from './server.ts';

const ID = 'gen_x';
const ended = { id: ID, state: 'succeeded', outputs: [] };
let running: Awaited<ReturnType<typeof startServer>>[] = [];
afterEach(async () => {
  await Promise.all(running.map((server) => server.close()));
  running = [];
});

async function serving(answer: Parameters<typeof startServer>[0], watchToken?: string) {
  const server = await startServer(answer);
  running.push(server);
  const auth = watchToken === undefined ? { apiKey: 'dk_test' } : { watchToken };
  return { ...server, client: createClient({ baseUrl: server.url, retryDelayMs: 5, ...auth }) };
}

function stream(response: ServerResponse, text: string, end = true): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  response.write(text);
  if (end) response.end();
}
const isStream = ({ url }: Seen) => url.includes('/events');
const event = (seq: number, type: string, data: object) =>
  `id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify({ generation: ID, ...data })}\n\n`;

describe('wait', () => {
  it('SSE-1 follows the stream, connects again where it broke, and tells each event once', async () => {
    let streams = 0;
    const { client, seen } = await serving((response, _n, request) => {
      if (!isStream(request)) return json(response, 200, ended);
      streams += 1;
      if (streams === 1) {
        stream(
          response,
          `retry: 2000\n\n${event(1, 'created', { state: 'queued' })}: hello\n\nid: 2\nevent: stage\ndata: {"sta`,
        );
      } else {
        stream(
          response,
          event(2, 'stage', { state: 'running' }) + event(3, 'terminal', { state: 'succeeded' }),
          false,
        );
      }
    });
    const events: GenerationEvent[] = [];
    expect(await client.wait(ID, { onEvent: (one) => events.push(one) })).toEqual(ended);
    expect(events.map(({ type, state }) => [type, state])).toEqual([
      ['created', 'queued'],
      ['stage', 'running'],
      ['terminal', 'succeeded'],
    ]);
    expect(seen.filter(isStream).map(({ url }) => url)).toEqual([
      `/v1/generations/${ID}/events`,
      `/v1/generations/${ID}/events?last_event_id=1`,
    ]);
  });

  it('polls as Retry-After says where there is no stream', async () => {
    let reads = 0;
    const { client, seen } = await serving((response, _n, request) => {
      if (isStream(request)) return json(response, 503, { code: 'busy' });
      reads += 1;
      const state = reads < 3 ? 'running' : 'failed';
      return json(response, 200, { ...ended, state }, { 'Retry-After': '0' });
    });
    expect(await client.wait(ID)).toMatchObject({ state: 'failed' });
    expect(seen.filter(isStream)).toHaveLength(1);
    expect(reads).toBe(3);
  });

  it('on timeout throws an error with the id, which says not to submit again, and cancels nothing', async () => {
    const { client, seen } = await serving((response, _n, request) => {
      if (isStream(request)) return stream(response, event(1, 'created', { state: 'queued' }), false);
      return json(response, 200, { ...ended, state: 'running' });
    });
    const failure = await client.wait(ID, { timeoutMs: 100 }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(WaitTimeoutError);
    expect((failure as WaitTimeoutError).generationId).toBe(ID);
    expect((failure as WaitTimeoutError).message).toMatch(/Do not submit it a second time/);
    expect(seen.every(({ method }) => method === 'GET')).toBe(true);
  });

  it('T32 stops when it is aborted, with the reason, and cancels nothing', async () => {
    const stop = new AbortController();
    const { client, seen } = await serving((response, _n, request) => {
      if (isStream(request)) stream(response, event(1, 'created', { state: 'queued' }), false);
    });
    const reason = new Error('closed');
    const waiting = client.wait(ID, { signal: stop.signal, onEvent: () => stop.abort(reason) });
    await expect(waiting).rejects.toBe(reason);
    expect(seen.map(({ method }) => method)).toEqual(['GET']);
  });

  it('what the listener throws ends the wait', async () => {
    const { client } = await serving((response, _n, request) => {
      if (isStream(request)) stream(response, event(1, 'created', { state: 'queued' }), false);
    });
    const mine = new Error('mine');
    const waiting = client.wait(ID, {
      onEvent() {
        throw mine;
      },
    });
    await expect(waiting).rejects.toBe(mine);
  });

  it('tells a refusal at once', async () => {
    const { client } = await serving((response) =>
      json(response, 404, { code: 'generation_not_found', detail: 'd' }),
    );
    await expect(client.wait('gen_none')).rejects.toMatchObject({ code: 'generation_not_found' });
  });

  it('with a watch token sends the token, and no key', async () => {
    const { client, seen } = await serving((response, _n, request) => {
      if (isStream(request)) stream(response, event(1, 'terminal', { state: 'succeeded' }));
      else json(response, 200, ended);
    }, 'wt1.token');
    await client.wait(ID);
    expect(seen.map(({ url }) => url)).toEqual([
      `/v1/generations/${ID}/events?watch_token=wt1.token`,
      `/v1/generations/${ID}?watch_token=wt1.token`,
    ]);
    expect(seen.every(({ headers }) => headers.authorization === undefined)).toBe(true);
  });
});

describe('download', () => {
  const output = {
    index: 0,
    url: '/files/outputs/gen_x/0?x=1',
    media_type: 'video/mp4',
    bytes: 5,
    sha256: 'aa',
  };
  it('fetches by a fresh link, and never takes a part for the whole', async () => {
    let links = 0;
    const { client } = await serving((response, _n, { url }) => {
      if (!url.startsWith('/files')) {
        links += 1;
        return json(response, 200, { ...ended, outputs: [{ ...output, url: `${output.url}${links}` }] });
      }
      if (url.endsWith('1')) return json(response, 403, { code: 'link_expired' });
      response.writeHead(200);
      response.end(links === 2 ? 'whole' : 'who');
    });
    const file = await client.download(ID);
    expect(file).toMatchObject({ mediaType: 'video/mp4', bytes: 5, sha256: 'aa' });
    expect(await new Response(file.body).text()).toBe('whole');
    const cut = await client.download(ID);
    await expect(new Response(cut.body).text()).rejects.toThrow(/3 of 5 bytes/);
    await expect(client.download(ID, { index: 1 })).rejects.toThrow(/no stored output 1/);
  });
});
