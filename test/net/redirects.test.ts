import { describe, expect, it } from 'vitest';
import type { DownloadAnswer, OutboundHttp } from '../../src/net/types.ts';
import { createClient, startHttp, startTcp } from './servers.ts';

async function download(
  client: OutboundHttp,
  url: string,
  hosts: readonly string[] = ['127.0.0.1', '*.cdn.example'],
  headersFor: (url: URL) => Readonly<Record<string, string>> = () => ({}),
): Promise<DownloadAnswer> {
  return client.download({
    url,
    hosts,
    headersFor,
    limits: { maxBytes: 1000, idleMs: 20_000, totalMs: 60_000 },
    signal: new AbortController().signal,
    write: async () => {},
  });
}

/** Answers every request with a redirect to this place. */
async function startRedirect(location: string): Promise<number> {
  const server = await startHttp((_request, response) => {
    response.writeHead(302, { location }).end('moved');
  });
  return server.port;
}

describe('download: redirects', () => {
  it('SSRF-4: follows three hops, relative ones too, and refuses the fourth', async () => {
    const server = await startHttp((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end('file');
      else response.writeHead(307, { location: left % 2 === 0 ? `./${left - 1}#x` : `/${left - 1}` }).end();
    });
    const client = createClient([server.port]);
    expect(await download(client, `http://127.0.0.1:${server.port}/3`)).toMatchObject({
      kind: 'complete',
      bytes: 4,
    });
    expect(await download(client, `http://127.0.0.1:${server.port}/4`)).toEqual({
      kind: 'rejected',
      reason: 'redirects',
    });
  });

  it.each([
    ['https://127.0.0.1/', 'blocked_address'],
    ['https://[::ffff:169.254.169.254]/', 'blocked_address'],
    ['https://2130706433/', 'blocked_address'],
    ['https://private.cdn.example/', 'blocked_address'],
    ['http://a.cdn.example/', 'invalid_url'],
    ['http://127.0.0.1:5432/', 'invalid_url'],
    ['https://a.cdn.example:22/', 'invalid_url'],
    ['https://key@a.cdn.example/', 'invalid_url'],
    ['file:///etc/passwd', 'invalid_url'],
    ['data:text/plain,x', 'invalid_url'],
    ['https://', 'invalid_url'],
    ['https://cdn.example/', 'blocked_host'],
    ['https://evilcdn.example/', 'blocked_host'],
    ['https://a.cdn.example.evil.example/', 'blocked_host'],
  ])('SSRF-4: a redirect to %s is refused as %s', async (location, reason) => {
    const port = await startRedirect(location);
    expect(await download(createClient([port]), `http://127.0.0.1:${port}/`)).toEqual({
      kind: 'rejected',
      reason,
    });
  });

  it('SSRF-6: a host that is not on the list is never connected to', async () => {
    const target = await startTcp(() => {});
    const client = createClient([target.port]);
    for (const hosts of [[], ['*'], ['*.'], ['*.0.0.1x'], ['127.0.0.1:1'], ['localhost']]) {
      expect(await download(client, `http://127.0.0.1:${target.port}/`, hosts)).toEqual({
        kind: 'rejected',
        reason: 'blocked_host',
      });
    }
    expect(target.connections).toBe(0);
  });

  it('a host may be listed with its port, and a fragment is dropped', async () => {
    const server = await startHttp((request, response) => response.end(request.url));
    const url = `http://127.0.0.1:${server.port}/f#t=1`;
    expect(await download(createClient([server.port]), url, [`127.0.0.1:${server.port}`])).toMatchObject({
      bytes: 2,
    });
  });

  it('SSRF-7: headers are asked per hop and never cross hosts', async () => {
    const received: (string | undefined)[] = [];
    const cdn = await startHttp((request, response) => {
      received.push(request.headers.authorization);
      response.end('file');
    });
    const api = await startHttp((request, response) => {
      received.push(request.headers.authorization);
      response.writeHead(302, { location: `http://files.cdn.example:${cdn.port}/f` }).end();
    });
    const client = createClient([api.port, cdn.port], { names: ['files.cdn.example'] });
    const asked: string[] = [];
    const answer = await download(client, `http://127.0.0.1:${api.port}/f`, undefined, (url) => {
      asked.push(url.host);
      return url.port === String(api.port) ? { Authorization: 'Bearer key', 'Accept-Encoding': 'gzip' } : {};
    });
    expect(answer).toMatchObject({ kind: 'complete', bytes: 4 });
    expect(asked).toEqual([`127.0.0.1:${api.port}`, `files.cdn.example:${cdn.port}`]);
    expect(received).toEqual(['Bearer key', undefined]);
  });
});
