import { afterEach, describe, expect, it, vi } from 'vitest';
import type { DownloadAnswer } from '../../src/net/types.ts';
import { createClient, startHttp, startHttps, startTcp, words } from './servers.ts';

const HOSTS = ['127.0.0.1', '[::1]', 'localhost', '*.example'];
const SECRET = 'instance-role-secret';

async function download(client: ReturnType<typeof createClient>, url: string): Promise<DownloadAnswer> {
  return client.download({
    url,
    hosts: HOSTS,
    headersFor: () => ({}),
    limits: { maxBytes: 1_000, idleMs: 20_000, totalMs: 60_000 },
    signal: new AbortController().signal,
    write: async () => {
      throw new Error('nothing of it may arrive');
    },
  });
}

afterEach(() => vi.unstubAllEnvs());

describe('download: the first URL', () => {
  it.each(
    words(`
      https://127.0.0.1/ https://2130706433/ https://0x7f.1/ https://0177.0.0.1/ https://127.1/ https://[::1]/
      https://[::ffff:169.254.169.254]/ https://[::ffff:a9fe:a9fe]/ https://[64:ff9b::a9fe:a9fe]/ https://localhost/
      https://localhost./ https://127.0.0.1./ https://100.64.0.1/ https://[::]/ https://%6docalhost.localhost/
      http://127.0.0.1:22/ http://127.0.0.1:5432/ https://a.example:7233/ https://a.example:0/ http://a.example/
      https://u:p@a.example/ https:\\\\\\\\a.example/ file:///etc/passwd ftp://a.example/f data:image/png;base64,AAAA
    `),
  )('SSRF-1 SSRF-2 SSRF-5: %s is refused without a look-up', async (url) => {
    const lookup = vi.fn<() => Promise<[]>>(async () => []);
    const answer = await download(createClient([], { lookup }), url);
    expect(answer).toMatchObject({ kind: 'rejected' });
    expect(lookup).not.toHaveBeenCalled();
  });

  it('SSRF-3: a listed name with a private address only is refused, and nobody is connected to', async () => {
    const target = await startTcp(() => {});
    const client = createClient([], { lookup: async () => [{ address: '127.0.0.1', family: 4 }] });
    expect(await download(client, 'https://files.example/')).toEqual({
      kind: 'rejected',
      reason: 'blocked_address',
    });
    expect(target.connections).toBe(0);
  });
});

describe('download: the connection', () => {
  const names = ['files.example'];

  it('a certificate that nobody vouches for is refused, whatever the environment says', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const server = await startHttps((_request, response) => response.end(SECRET));
    const answer = await download(
      createClient([server.port], { names }),
      `https://files.example:${server.port}/`,
    );
    expect(answer).toEqual({ kind: 'failed', reason: 'tls_failed' });
  });

  it('a handshake that never ends is given up, and the name is told to the vetted address', async () => {
    const received: Buffer[] = [];
    const server = await startTcp((socket) => socket.on('data', (bytes) => received.push(bytes)));
    const client = createClient([server.port], { names, connectTimeoutMs: 1_500 });
    expect(await download(client, `https://files.example:${server.port}/`)).toEqual({
      kind: 'failed',
      reason: 'connect_timeout',
    });
    expect(Buffer.concat(received).includes('files.example')).toBe(true);
  });

  it('close waits for what is under way, and nothing begins after it', async () => {
    let answered = false;
    const server = await startHttp((_request, response) => {
      setTimeout(() => {
        answered = true;
        response.writeHead(404).end();
      }, 200);
    });
    const client = createClient([server.port]);
    const running = download(client, `http://127.0.0.1:${server.port}/`);
    await client.close();
    expect(answered).toBe(true);
    expect(await running).toEqual({ kind: 'gone', status: 404 });
    expect(await download(client, `http://127.0.0.1:${server.port}/`)).toEqual({
      kind: 'failed',
      reason: 'connect_refused',
    });
    expect(server.connections).toBe(1);
  });
});

describe('download: what it tells', () => {
  it('SSRF-8: an open and a closed private port give the same answer, directly and by redirect', async () => {
    const open = await startTcp(() => {});
    const answers: DownloadAnswer[] = [];
    for (const target of [`http://127.0.0.1:${open.port}/`, 'http://127.0.0.1:1/', 'http://127.0.0.1:22/']) {
      const redirect = await startHttp((_request, response) => {
        response.writeHead(302, { location: target }).end();
      });
      const client = createClient([redirect.port]);
      answers.push(await download(client, target));
      answers.push(await download(client, `http://127.0.0.1:${redirect.port}/`));
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(open.connections).toBe(0);
  });

  it.each([200, 206, 302, 403, 500])(
    'SSRF-9: a %i that is not stored says only fixed words',
    async (status) => {
      const server = await startHttp((_request, response) => {
        response.writeHead(status, SECRET, {
          'content-type': `text/${SECRET}`,
          'content-encoding': status === 200 ? SECRET : 'identity',
          ...(status === 302 && { location: `https://${SECRET}.example.com/${SECRET}` }),
        });
        response.end(SECRET);
      });
      const answer = await download(createClient([server.port]), `http://127.0.0.1:${server.port}/`);
      expect(answer.kind).not.toBe('complete');
      expect(JSON.stringify(answer)).not.toContain(SECRET);
      expect(JSON.stringify(answer)).not.toContain('example');
    },
  );

  it('SSRF-10: proxy variables change nothing', async () => {
    const proxy = await startTcp((socket) => socket.end());
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy']) {
      vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`);
    }
    vi.stubEnv('NODE_USE_ENV_PROXY', '1');
    const server = await startHttp((_request, response) => response.writeHead(404).end());
    const client = createClient([server.port], { lookup: async () => [{ address: '10.0.0.1', family: 4 }] });
    expect(await download(client, `http://127.0.0.1:${server.port}/`)).toEqual({ kind: 'gone', status: 404 });
    expect(await download(client, 'https://files.example/')).toEqual({
      kind: 'rejected',
      reason: 'blocked_address',
    });
    expect(proxy.connections).toBe(0);
  });
});
