import { describe, expect, it, vi } from 'vitest';
import type { Answer } from './client.ts';
import { SECRET, useInputSources } from './input-sources.ts';
import { codeOf, pathsOf } from './suite.ts';
import { newTenant, rowsOf } from './tenants.ts';

const { suite, inner, outer, ports, ask, askFor } = useInputSources();

/** Seen to be wrong without going there: 400 at the field, nothing asked of anybody, nothing written. */
async function expectRefused(urls: readonly string[]): Promise<void> {
  const tenant = await newTenant(suite.db);
  const before = outer.connections + inner.connections;
  for (const url of urls) {
    const answer = await ask(tenant, url);
    expect([url, ...codeOf(answer), pathsOf(answer)]).toEqual([
      url,
      400,
      'invalid_request',
      ['/input/image_url'],
    ]);
  }
  expect(outer.connections + inner.connections).toBe(before);
  expect(await rowsOf(suite.db, tenant.id)).toEqual({ generations: 0, holds: 0, held: 0 });
}

describe('SSRF: what image_url may name', () => {
  it('SSRF-1 no literal address that is not public', () =>
    expectRefused(
      [
        '0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 169.254.169.254 172.16.0.1 192.0.0.1 192.168.1.1 198.18.0.1 224.0.0.1 240.0.0.1',
        '255.255.255.255 [::] [::1] [::ffff:127.0.0.1] [fe80::1] [fc00::1] [ff02::1] [2001:db8::1] [64:ff9b::808:808]',
      ]
        .flatMap((line) => line.split(' '))
        .map((host) => `https://${host}/boat.png`),
    ));

  it('SSRF-2 in no spelling', () =>
    expectRefused([
      ...'2130706433 0x7f000001 0177.0.0.1 127.1 127.0.0.1. localhost localhost. a.localhost LOCALHOST %6cocalhost'
        .split(' ')
        .map((host) => `https://${host}/`),
      'https://loc\talhost/',
      '\nhttps://example.com/',
      'https://example.com/\n',
      'https:\\\\127.0.0.1\\',
    ]));

  it('SSRF-5 no user name, no other port, no other scheme', () =>
    expectRefused([
      'https://user@example.com/',
      'https://user:secret@example.com/',
      'https://example.com\\@127.0.0.1/',
      ...[0, 22, 25, 80, 5432, 7233, 8233].map((port) => `https://example.com:${port}/`),
      'http://example.com/boat.png',
      'ftp://example.com/boat.png',
      'file:///etc/passwd',
      'data:image/png;base64,AAAA',
      'gopher://example.com/',
      `http://127.0.0.1:${inner.port}/boat.png`,
    ]));

  it('SSRF-4 redirects: three are followed, each looked at anew', async () => {
    const tenant = await newTenant(suite.db);
    expect((await askFor(tenant, '/hop?n=2')).status).toBe(202);
    expect(codeOf(await askFor(tenant, '/hop?n=3'))).toEqual([422, 'input_unusable']);
    const asked = inner.connections;
    for (const target of [
      `${inner.url}/boat.png`,
      'file:///etc/passwd',
      'data:image/png;base64,AAAA',
      'https://[::1]/',
    ]) {
      expect(codeOf(await askFor(tenant, `/to?url=${encodeURIComponent(target)}`))).toEqual([
        422,
        'input_unusable',
      ]);
    }
    expect(inner.connections).toBe(asked);
  });

  it('SSRF-3 SSRF-8 SSRF-9 whatever is wrong on the way, the answer is the same, and holds nothing of the target', async () => {
    const tenant = await newTenant(suite.db);
    const asked = inner.connections;
    const ways: readonly [string, Promise<Answer>][] = [
      ...Object.entries({
        'a name of a private address': 'https://private.example/boat.png',
        'a name of this machine': 'https://loopback.example/boat.png',
        'the metadata service': 'https://mapped.example/latest/meta-data/',
        'no such name': 'https://nobody.example/boat.png',
        'a shut port': `http://127.0.0.1:${ports.shut}/boat.png`,
        'a port that does not speak': `http://127.0.0.1:${ports.mute}/boat.png`,
      }).map(([name, url]) => [name, ask(tenant, url)] as [string, Promise<Answer>]),
      ...Object.entries({
        'no such file': '/nothing.png',
        forbidden: '/status?code=403',
        broken: '/status?code=500',
        'no content': '/status?code=204',
        'a body that stops': '/silent',
        'a connection that ends': '/reset',
        compressed: '/gzip',
        'a redirect inside': `/to?url=${encodeURIComponent(inner.url)}`,
        'a redirect to nowhere': '/to?url=%20',
      }).map(([name, path]) => [name, askFor(tenant, path)] as [string, Promise<Answer>]),
    ];
    const texts = new Map<string, string[]>();
    for (const [name, way] of ways) {
      const answer = await way;
      const text = `${answer.status} ${answer.text}`;
      texts.set(text, [...(texts.get(text) ?? []), name]);
    }
    expect([...texts.values()]).toEqual([ways.map(([name]) => name)]);
    const [text] = [...texts.keys()];
    expect(text).toMatch(/^422 .*"code":"input_unusable".*Could not be fetched/);
    expect(text).not.toContain(SECRET);
    expect(inner.connections).toBe(asked);
    // Neither is anything of it in the log.
    expect(suite.api.logs.join('')).not.toMatch(/private\.example|boat\.png|meta-data/);
  }, 90_000);

  it('SSRF-7 nothing of ours goes along', async () => {
    const tenant = await newTenant(suite.db);
    expect((await askFor(tenant, '/boat.png?headers')).status).toBe(202);
    const { headers } = outer.requests.find(({ path }) => path === '/boat.png?headers')!;
    expect(headers).toEqual({
      host: new URL(outer.url).host,
      connection: 'close',
      'accept-encoding': 'identity',
    });
  });

  it('SSRF-10 no proxy of the environment is asked', async () => {
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY']) vi.stubEnv(name, inner.url);
    const asked = inner.connections;
    expect((await askFor(await newTenant(suite.db), '/boat.png?proxy')).status).toBe(202);
    expect(inner.connections).toBe(asked);
    vi.unstubAllEnvs();
  });
});
