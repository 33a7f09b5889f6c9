import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Lookup, vettedLookup } from '../../src/net/agent.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import type { OutboundAnswer } from '../../src/net/types.ts';
import { createClient, startHttp, startTcp } from './servers.ts';

const BLOCKED: OutboundAnswer = { kind: 'not_sent', reason: 'blocked_address' };

/** Every address that a guarded lookup lets through for this DNS answer, or the code of its error. */
async function vet(...addresses: string[]): Promise<unknown> {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  return new Promise((resolve) => {
    vettedLookup(async () => found, true)('x.test', { all: true }, (error, vetted) => {
      resolve(
        error ? (error as { code?: string }).code : (vetted as typeof found).map(({ address }) => address),
      );
    });
  });
}

async function get(client: ReturnType<typeof createClient>, url: string): Promise<OutboundAnswer> {
  return client.request({ method: 'GET', url, headers: {}, timeoutMs: 2000 });
}

afterEach(() => vi.unstubAllEnvs());

describe('address guard', () => {
  it('SSRF-3: a name that resolves to private addresses is blocked before any connect', async () => {
    const resolve = vi.fn<Lookup>(async () => [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ]);
    const client = createClient([], { lookup: resolve });
    expect(await get(client, 'https://evil.example/')).toEqual(BLOCKED);
    expect(resolve).toHaveBeenCalledExactlyOnceWith('evil.example');
  });

  it('SSRF-3: of a mixed answer only the public addresses are connected to', async () => {
    expect(await vet('10.0.0.1', '8.8.8.8', '::ffff:127.0.0.1', '2606:4700::1', 'nonsense')).toEqual([
      '8.8.8.8',
      '2606:4700::1',
    ]);
    expect(await vet('10.0.0.1')).toBe('BLOCKED_ADDRESS');
    expect(await vet('::ffff:a9fe:a9fe')).toBe('BLOCKED_ADDRESS');
    expect(await vet()).toBe('LOOKUP_FAILED');
  });

  it('SSRF-3: a name that turns private later (rebinding) is judged again at that connect', async () => {
    const answers = ['8.8.8.8', '127.0.0.1'];
    const lookup = vettedLookup(async () => [{ address: answers.shift() ?? '', family: 4 }], true);
    const connect = async (): Promise<unknown> =>
      new Promise((resolve) => {
        lookup('re.example', {}, (error, address) =>
          resolve(error instanceof Error ? error.message : address),
        );
      });
    expect(await connect()).toBe('8.8.8.8');
    expect(await connect()).toBe('blocked address');
  });

  it('SSRF-3: resolves once per connection and connects to that very answer', async () => {
    const server = await startHttp((_request, response) => response.end('ok'));
    const resolve = vi.fn<Lookup>(async () => [{ address: '127.0.0.1', family: 4 }]);
    const client = createClient([server.port], { names: ['one.example'], lookup: resolve });
    expect(await get(client, `http://one.example:${server.port}/`)).toMatchObject({
      kind: 'answer',
      status: 200,
    });
    expect(resolve).toHaveBeenCalledExactlyOnceWith('one.example');
    expect(server.connections).toBe(1);
  });

  it('permits an allow-listed host and port only', async () => {
    const open = await startHttp((request, response) => response.end(request.headers.host));
    const closed = await startHttp((_request, response) => response.end('secret'));
    const client = createClient([open.port], { names: ['sim.example'] });
    expect(await get(client, `http://sim.example:${open.port}/`)).toMatchObject({
      kind: 'answer',
      body: Buffer.from(`sim.example:${open.port}`),
    });
    expect(await get(client, `http://127.0.0.1:${closed.port}/`)).toEqual({
      kind: 'not_sent',
      reason: 'invalid_url',
    });
    expect(await get(client, `https://127.0.0.1/`)).toEqual(BLOCKED);
    expect(await get(client, `http://other.example:${open.port}/`)).toMatchObject({ kind: 'not_sent' });
    expect(closed.connections).toBe(0);
  });

  it('permits an allow-listed IPv6 literal and the system resolver', async () => {
    const server = await startHttp((_request, response) => response.end('ok'));
    const client = createOutboundHttp({
      allow: [
        { host: 'localhost', port: server.port },
        { host: '[::ffff:7f00:1]', port: server.port },
      ],
    });
    expect(await get(client, `http://localhost:${server.port}/`)).toMatchObject({
      kind: 'answer',
      status: 200,
    });
    expect(await get(client, `http://[::ffff:127.0.0.1]:${server.port}/`)).toMatchObject({ status: 200 });
    await client.close();
  });

  it('SSRF-8: an open and a closed private port give the same answer', async () => {
    const open = await startTcp(() => {});
    const client = createClient([]);
    const answers = await Promise.all(
      [`https://127.0.0.1:${open.port}/`, 'https://127.0.0.1:1/', 'https://10.0.0.1:1/'].map((url) =>
        get(client, url),
      ),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(open.connections).toBe(0);
  });

  it('SSRF-10: proxy variables change nothing', async () => {
    const proxy = await startTcp((socket) => socket.end());
    const server = await startHttp((_request, response) => response.end('direct'));
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy']) {
      vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`);
    }
    vi.stubEnv('NODE_USE_ENV_PROXY', '1');
    const client = createClient([server.port], { lookup: async () => [{ address: '10.0.0.1', family: 4 }] });
    expect(await get(client, `http://127.0.0.1:${server.port}/`)).toMatchObject({
      body: Buffer.from('direct'),
    });
    expect(await get(client, 'https://evil.example/')).toEqual(BLOCKED);
    expect(proxy.connections).toBe(0);
  });

  it('keeps the name for SNI while the connection goes to the vetted address', async () => {
    const received: Buffer[] = [];
    const server = await startTcp((socket) => {
      socket.once('data', (bytes) => {
        received.push(bytes);
        socket.end();
      });
    });
    const client = createClient([server.port], { names: ['cdn.example'] });
    expect(await get(client, `https://cdn.example:${server.port}/`)).toEqual({
      kind: 'not_sent',
      reason: 'tls_failed',
    });
    expect(Buffer.concat(received).includes('cdn.example')).toBe(true);
  });
});
