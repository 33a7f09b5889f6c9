import { afterEach, describe, expect, it } from 'vitest';
import { isWatchable } from '../../src/api/route.ts';
import { ROUTES } from '../../src/api/routes/index.ts';
import { newId } from '../../src/domain/ids.ts';
import { parseKeyring } from '../../src/domain/keyring.ts';
import { makeWatchToken } from '../../src/domain/watch-token.ts';
import { finish } from '../db/finish.ts';
import { accept, send as sendJob } from '../db/fixtures.ts';
import { startApi, testKeyring, type TestApi } from './api.ts';
import { send, type Answer, type Sent } from './client.ts';
import { follow } from './event-client.ts';
import { ask } from './following.ts';
import { codeOf, useApi } from './suite.ts';
import { create, get, newTenant } from './tenants.ts';

const suite = useApi();

const extra: TestApi[] = [];
afterEach(async () => {
  await Promise.all(extra.splice(0).map((api) => api.close()));
});

const FORM = /^wt1\.\d{10}\.ten_[0-9a-z]{26}\.[A-Za-z0-9_-]{43}$/;
const HOUR_MS = 3_600_000;

async function asked() {
  const { tenant, id, path } = await ask(suite);
  const plain = `/v1/generations/${id}`;
  const seen = await get(suite.api.url, tenant, plain);
  return { tenant, id, plain, events: path, seen, token: String(seen.headers['watch-token']) };
}

/** A page of another origin: no key, and what a browser adds. */
function browse(path: string, token: string, more: Partial<Sent> = {}): Promise<Answer> {
  return send(suite.api.url, {
    ...more,
    path: `${path}?watch_token=${encodeURIComponent(token)}`,
    headers: { Origin: 'https://shop.example', ...more.headers },
  });
}

const corsOf = ({ headers }: Pick<Answer, 'headers'>) =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

describe('Watch-Token', () => {
  it('is on every answer that shows one generation to a tenant’s key, and in no stored byte', async () => {
    const tenant = await newTenant(suite.db);
    const created = await create(suite.api.url, tenant, { key: 'again' });
    const replayed = await create(suite.api.url, tenant, { key: 'again' });
    const id = created.json()['id'] as string;
    const plain = `/v1/generations/${id}`;
    const headers = { Authorization: `Bearer ${tenant.key}` };
    await sendJob(suite.db, id);
    await accept(suite.db, id);
    const answers = [
      created,
      replayed,
      await get(suite.api.url, tenant, plain),
      await send(suite.api.url, { path: plain, method: 'HEAD', headers }),
      await get(suite.api.url, tenant, plain, { Prefer: 'wait=1' }),
      await send(suite.api.url, { path: `${plain}/cancel`, method: 'POST', headers }),
      await send(suite.api.url, { path: plain, method: 'DELETE', headers }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 200, 200, 200, 202, 202]);
    for (const answer of answers) {
      expect(answer.headers['watch-token']).toMatch(FORM);
      expect(answer.text).not.toContain('wt1.');
      expect(corsOf(answer)).toEqual([]);
    }
    expect([replayed.text, replayed.headers['idempotent-replayed']]).toEqual([created.text, 'true']);
    const unsent = (await create(suite.api.url, tenant)).json()['id'] as string;
    const cancelled = await send(suite.api.url, {
      path: `/v1/generations/${unsent}`,
      method: 'DELETE',
      headers,
    });
    expect([cancelled.status, cancelled.headers['watch-token']]).toEqual([200, expect.stringMatching(FORM)]);
    for (const other of ['/v1/generations', '/v1/models', '/v1/generations/gen_x']) {
      expect((await get(suite.api.url, tenant, other)).headers['watch-token']).toBeUndefined();
    }
    await finish(suite.db, id);
    for (const part of ['outputs', 'input']) {
      const answer = await send(suite.api.url, { path: `${plain}/${part}`, method: 'DELETE', headers });
      expect([part, answer.status < 300, answer.headers['watch-token']]).toEqual([
        part,
        true,
        expect.stringMatching(FORM),
      ]);
    }
  });

  it('opens the generation and its events to any origin, for reading, and is not handed on', async () => {
    const { tenant, id, plain, events, token, seen } = await asked();
    const watched = await browse(plain, token);
    expect([watched.status, watched.text]).toEqual([200, seen.text]);
    expect(watched.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': expect.stringContaining('ETag') as string,
      'cross-origin-resource-policy': 'cross-origin',
    });
    expect(watched.headers['watch-token']).toBeUndefined();
    expect(watched.headers['access-control-allow-credentials']).toBeUndefined();
    const same = await browse(plain, token, { headers: { 'If-None-Match': watched.headers.etag! } });
    expect([same.status, same.headers['access-control-allow-origin']]).toEqual([304, '*']);
    await finish(suite.db, id);
    const stream = await follow(suite.api.url, `${events}?last_event_id=1&watch_token=${token}`);
    expect([stream.status, await stream.over, stream.headers['access-control-allow-origin']]).toEqual([
      200,
      'end',
      '*',
    ]);
    expect(stream.events().map(({ event }) => event)).toEqual(['terminal']);
    expect(suite.api.logs.join('')).toContain(`"tenant":"${tenant.id}"`);
    expect(suite.api.logs.join('')).not.toContain('wt1.');
  });

  it('a token that is forged, over, under a key that left, or of another generation: 401, for the page to read', async () => {
    const { tenant, id, plain, events, token, seen } = await asked();
    const other = await asked();
    const deadlineAt = String(seen.json()['deadline_at']);
    const generation = { tenantId: tenant.id, id, deadlineAt };
    const over = new Date(Date.now() - HOUR_MS).toISOString();
    const bad = [
      '',
      'wt1',
      `${token}x`,
      token.replace(tenant.id, other.tenant.id),
      other.token,
      makeWatchToken(testKeyring(), { ...generation, deadlineAt: over }, 0)!,
      makeWatchToken(testKeyring('k2', 2), generation, 0)!,
      makeWatchToken(testKeyring(), { ...generation, id: newId('gen') }, 0)!,
      tenant.key,
    ];
    const key = { Authorization: `Bearer ${tenant.key}` };
    for (const path of [plain, events]) {
      for (const wrong of bad) {
        // A key beside it does not help: who sends a token means it.
        for (const headers of [{}, key]) {
          const refused = await browse(path, wrong, { headers });
          expect([...codeOf(refused), refused.headers['access-control-allow-origin']]).toEqual([
            401,
            'watch_token_invalid',
            '*',
          ]);
          expect(refused.headers['www-authenticate']).toMatch(/^Bearer /);
        }
      }
      const twice = await send(suite.api.url, { path: `${path}?watch_token=${token}&watch_token=${token}` });
      expect(codeOf(twice)).toEqual([401, 'watch_token_invalid']);
    }
    for (const named of ['gen_short', '%00', newId('gen')]) {
      expect(codeOf(await browse(`/v1/generations/${named}`, token))).toEqual([401, 'watch_token_invalid']);
    }
    expect(suite.api.logs.join('')).not.toContain('wt1.');
  });

  it('goes on to work when the key was rotated; ends an hour after the deadline, when none is made any more', async () => {
    const { tenant, plain, seen, token } = await asked();
    const keyring = parseKeyring(
      [2, 1].map((byte) => `k${byte}:${Buffer.alloc(32, byte).toString('base64')}`).join(','),
    );
    const endMs = Math.floor(Date.parse(String(seen.json()['deadline_at'])) / 1_000) * 1_000 + HOUR_MS;
    const [before, after] = [
      await startApi(suite.db, { keyring, nowMs: () => endMs - 1 }),
      await startApi(suite.db, { keyring, nowMs: () => endMs }),
    ];
    extra.push(before, after);
    const with_ = (api: TestApi, text: string) => send(api.url, { path: `${plain}?watch_token=${text}` });
    expect((await with_(before, token)).status).toBe(200);
    const fresh = (await get(before.url, tenant, plain)).headers['watch-token'] as string;
    expect([(await with_(before, fresh)).status, fresh === token]).toEqual([200, false]);
    expect(codeOf(await with_(suite.api, fresh))).toEqual([401, 'watch_token_invalid']);
    expect(codeOf(await with_(after, token))).toEqual([401, 'watch_token_invalid']);
    const late = await get(after.url, tenant, plain);
    expect([late.status, late.headers['watch-token']]).toEqual([200, undefined]);
  });

  it('every other route and method refuses it, and is closed to other origins', async () => {
    const { id, plain, events, token } = await asked();
    const watchable = ROUTES.filter(isWatchable).map(({ method, path }) => `${method} ${path}`);
    expect(watchable).toEqual(['get /v1/generations/{id}', 'get /v1/generations/{id}/events']);
    const others = ROUTES.filter((route) => !isWatchable(route));
    expect(others.length).toBeGreaterThan(20);
    for (const { method, path, auth } of others) {
      const at = path.replace('{id}', id).replace(/\{\w+\}/g, '0');
      const answer = await browse(at, token, { method: method.toUpperCase() });
      expect([path, corsOf(answer)]).toEqual([path, []]);
      if (!['none', 'callback', 'link'].includes(auth)) {
        expect([path, ...codeOf(answer)]).toEqual([path, 401, 'api_key_missing']);
      }
    }
    for (const path of [plain, events]) {
      for (const method of ['POST', 'PUT', 'PATCH']) {
        expect((await browse(path, token, { method })).status).toBe(405);
      }
    }
    expect((await browse(plain, token)).json()).toMatchObject({ state: 'queued', cancellation: null });
  });
});

describe('other origins', () => {
  it('a preflight of the two paths is answered, of no other one', async () => {
    const { plain, events, token } = await asked();
    for (const path of [plain, events, `${events}?watch_token=${token}`]) {
      const preflight = await send(suite.api.url, {
        path,
        method: 'OPTIONS',
        headers: { Origin: 'https://shop.example', 'Access-Control-Request-Method': 'GET' },
      });
      expect([preflight.status, preflight.text]).toEqual([204, '']);
      expect(preflight.headers).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'GET',
        'access-control-allow-headers': 'If-None-Match, Last-Event-ID, Prefer',
      });
    }
    for (const path of ['/v1/generations', `${plain}/cancel`, '/v1/models', '/docs']) {
      const refused = await send(suite.api.url, { path, method: 'OPTIONS' });
      expect([refused.status, corsOf(refused)]).toEqual([405, []]);
    }
  });

  it('without a token no answer may be read from another origin', async () => {
    const { tenant, plain, events } = await asked();
    const headers = { Authorization: `Bearer ${tenant.key}`, Origin: 'https://shop.example' };
    for (const path of [plain, events]) {
      for (const asking of [headers, { Origin: 'https://shop.example' }]) {
        const answer = await send(suite.api.url, { path, method: 'HEAD', headers: asking });
        expect([corsOf(answer), answer.headers['cross-origin-resource-policy']]).toEqual([[], 'same-origin']);
      }
    }
  });
});
