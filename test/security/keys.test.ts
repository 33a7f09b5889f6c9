/** API2: what is no key of ours, and what is one no more, on real tables; §6.2: refused offline where it can be. */
import { describe, expect, it } from 'vitest';
import { makeApiKey } from '../../src/domain/api-key.ts';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { startApi, stubDb } from '../api/api.ts';
import { send, type Sent } from '../api/client.ts';
import { codeOf, useApi } from '../api/suite.ts';
import { newTenant } from '../api/tenants.ts';

const suite = useApi();
const CHALLENGE = 'Bearer realm="darkroom", error="invalid_token"';
const PATHS = ['/v1/models', '/admin/v1/tenants'];

const ask = (path: string, authorization?: string | string[], url = suite.api.url) =>
  send(url, { path, headers: authorization === undefined ? {} : { Authorization: authorization } });

/** Texts that look more or less like this key, and are none. */
function lookalikes(key: string): readonly [name: string, headers: Sent['headers'], query?: string][] {
  const bearer = (text: string) => ({ Authorization: `Bearer ${text}` });
  const [prefix = '', id = ''] = key.split('_');
  return [
    ['10 kB', bearer(`dk_${'a'.repeat(10_000)}`)],
    ['10 kB behind a right key', bearer(key + 'a'.repeat(10_000))],
    ['the prefix alone', bearer(`${prefix}_`)],
    ['prefix and id alone', bearer(`${prefix}_${id}_`)],
    ['one character less', bearer(key.slice(0, -1))],
    ['one character more', bearer(`${key}A`)],
    ['one wrong character', bearer(key.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x')))],
    ['an id of another, without its checksum', bearer(key.replace(id, makeApiKey().id))],
    ['another case', bearer(key.toLowerCase())],
    ['two of them', bearer(`${key}, ${key}`)],
    ['two header lines', { Authorization: [`Bearer ${key}`, `Bearer ${key}`] }],
    ['two header lines, the second empty', { Authorization: [`Bearer ${key}`, ''] }],
    ['another scheme', { Authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` }],
    ['no scheme', { Authorization: key }],
    ['two schemes', { Authorization: `Bearer Bearer ${key}` }],
    ['a header of another name', { 'X-Api-Key': key }],
    ['a cookie', { Cookie: `authorization=Bearer ${key}` }],
    ['the query', {}, `?api_key=${key}&access_token=${key}&authorization=Bearer%20${key}`],
  ];
}

describe('API2 what is no key', () => {
  it.each(['generations', 'admin'] as const)(
    'is refused without the database, the same way for all: %s',
    async (scope) => {
      const stub = stubDb({ scopes: [scope], tenantId: scope === 'admin' ? null : 'ten_stub' });
      const api = await startApi(stub.db);
      const path = scope === 'admin' ? '/admin/v1/tenants' : '/v1/models';
      const bodies = new Set<string>();
      for (const [name, headers, query = ''] of lookalikes(stub.apiKey)) {
        const answer = await send(api.url, { path: path + query, headers: headers ?? {} });
        const missing = headers?.['Authorization'] === undefined;
        expect([name, ...codeOf(answer)]).toEqual([
          name,
          401,
          missing ? 'api_key_missing' : 'api_key_invalid',
        ]);
        expect(answer.headers['www-authenticate']).toBe(missing ? 'Bearer realm="darkroom"' : CHALLENGE);
        const { instance: _instance, ...document } = answer.json();
        if (!missing) bodies.add(JSON.stringify(document));
      }
      expect(bodies.size).toBe(1);
      expect([stub.reads, stub.calls]).toEqual([0, []]);
      // A whole key, also one that nobody has, does ask.
      await ask(path, `Bearer ${makeApiKey().text}`, api.url);
      expect(stub.reads).toBe(1);
      await api.close();
    },
  );

  it('a guess with a right checksum, and a right id with another secret, are told like a revoked or expired key', async () => {
    const tenant = await newTenant(suite.db);
    const bodies = new Set<string>();
    const times = { revoked: { revokedAt: new Date() }, expired: { expiresAt: new Date(Date.now() - 1) } };
    const dead = await Promise.all(
      Object.values(times).map(async (data) => {
        const key = await createApiKey(
          { db: suite.db },
          { tenantId: tenant.id, scopes: ['generations'], label: 'dead' },
        );
        expect((await ask('/v1/models', `Bearer ${key.text}`)).status).toBe(200);
        await suite.db.prisma.apiKey.update({ where: { id: key.id }, data });
        return key.text;
      }),
    );
    for (const key of [makeApiKey().text, makeApiKey(tenant.keyId).text, ...dead]) {
      for (const path of PATHS) {
        const answer = await ask(path, `Bearer ${key}`);
        expect(codeOf(answer)).toEqual([401, 'api_key_invalid']);
        expect(answer.headers['www-authenticate']).toBe(CHALLENGE);
        const { instance: _instance, ...document } = answer.json();
        bodies.add(JSON.stringify(document));
      }
    }
    expect(bodies.size).toBe(1);
  });

  it('a key that expires in a moment works until then, by the database’s clock', async () => {
    const tenant = await newTenant(suite.db);
    const expire = (at: Date | null) =>
      suite.db.prisma.apiKey.update({ where: { id: tenant.keyId }, data: { expiresAt: at } });
    await expire(new Date(Date.now() + 3_600_000));
    expect((await ask('/v1/models', `Bearer ${tenant.key}`)).status).toBe(200);
    await expire(new Date(Date.now() - 1));
    expect((await ask('/v1/models', `Bearer ${tenant.key}`)).status).toBe(401);
  });
});

describe('API keys for secret scanners', () => {
  it('every key matches the expression of SECURITY.md, and nothing shorter or longer does', async () => {
    const { readFile } = await import('node:fs/promises');
    const text = await readFile(new URL('../../SECURITY.md', import.meta.url), 'utf8');
    const written = /`(\\bdk_[^`]+)`/.exec(text)?.[1];
    expect(written).toBeDefined();
    const expression = new RegExp(written!);
    for (let i = 0; i < 200; i += 1) {
      const { text: key } = makeApiKey();
      expect(expression.exec(`key=${key};`)?.[0]).toBe(key);
      for (const other of [key.slice(0, -1), `${key}A`, key.replace('dk_', 'dx_'), `a${key}`])
        expect(expression.test(other)).toBe(false);
    }
  });
});
