import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OutboundHttp } from '../../src/net/index.ts';
import { useDatabase } from '../db/database.ts';
import { keySet, signedHeaders } from '../providers/fal-keys.ts';
import { httpTo, ScriptedServer } from '../providers/scripted-server.ts';
import { startApi, type TestApi } from './api.ts';
import { callbackProviders, inbox, SENDERS, submitted, tell } from './callbacks-whi.ts';
import { send } from './client.ts';

const database = useDatabase();
const [infro, replicate, fal] = SENDERS as [(typeof SENDERS)[0], (typeof SENDERS)[0], (typeof SENDERS)[0]];
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

let keys: ScriptedServer;
let http: OutboundHttp;
let api: TestApi;
/** Added to the clock of the service, and to that of the sender. */
let laterMs = 0;
beforeAll(async () => {
  keys = await ScriptedServer.start();
  http = httpTo(keys.url);
});
afterAll(async () => {
  await http.close();
  await keys.close();
});
beforeEach(async () => {
  laterMs = 0;
  keys.seen.length = 0;
  keys.answer = keySet(['right']);
  api = await startApi(database.db, {
    providers: callbackProviders(http, keys.url),
    nowMs: () => Date.now() + laterMs,
  });
});
afterEach(() => api.close());

const clock = () => Math.floor((Date.now() + laterMs) / 1_000);

describe('fal, whose keys are public and for all its customers', () => {
  /** One callback of a fresh request, signed with this key pair; its answer's status. */
  async function status(name = 'right'): Promise<number> {
    const job = await submitted(database, 'fal');
    const body = fal.body(job.jobId, 'succeeded');
    const answer = await tell(api.url, fal, job.path, body, { secrets: [name], t: clock() });
    expect(await inbox(database, job)).toHaveLength(answer.status === 200 ? 1 : 0);
    return answer.status;
  }

  it('is taken without any webhook secret, its keys are fetched once', async () => {
    expect([await status(), await status(), await status('foreign')]).toEqual([200, 200, 401]);
    expect(keys.seen.map(({ method, url }) => `${method} ${url}`)).toEqual(['GET /keys']);
  });

  it('rightly signed for another customer: 401, and no key is fetched for it', async () => {
    const job = await submitted(database, 'fal');
    const body = Buffer.from(fal.body(job.jobId, 'succeeded'));
    for (const userId of ['github|666', '', 'github|1234567', 'GITHUB|12345678']) {
      const headers = signedHeaders(body, 'right', clock(), { requestId: job.jobId, userId });
      for (const path of [job.path, '/callbacks/fal']) {
        expect((await send(api.url, { method: 'POST', path, headers, body })).status).toBe(401);
      }
    }
    expect(keys.seen).toEqual([]);
    expect(await inbox(database, job)).toEqual([]);
  });

  it('signed for one request, with the body of another: 400, also at the URL of that other', async () => {
    const [mine, theirs] = [await submitted(database, 'fal'), await submitted(database, 'fal')];
    const body = Buffer.from(fal.body(theirs.jobId, 'succeeded'));
    const headers = signedHeaders(body, 'right', clock(), { requestId: mine.jobId });
    for (const path of [mine.path, theirs.path, '/callbacks/fal']) {
      expect((await send(api.url, { method: 'POST', path, headers, body })).status).toBe(400);
    }
    expect(await inbox(database, theirs)).toEqual([]);
  });

  it('no keys to be had: 503 with a time, nothing written; taken when they are back', async () => {
    keys.answer = { status: 500 };
    const job = await submitted(database, 'fal');
    const body = fal.body(job.jobId, 'succeeded');
    const answer = await tell(api.url, fal, job.path, body);
    expect([answer.status, answer.json()['code'], answer.headers['retry-after']]).toEqual([
      503,
      'callback_keys_unavailable',
      '10',
    ]);
    expect(await inbox(database, job)).toEqual([]);
    keys.answer = keySet(['right']);
    laterMs = 10_000;
    expect((await tell(api.url, fal, job.path, body, { t: clock() })).status).toBe(200);
  });

  it('stale keys go on while new ones can not be had, for days', async () => {
    expect(await status()).toBe(200);
    keys.answer = { status: 503 };
    for (const days of [1, 2, 5]) {
      laterMs = days * DAY_MS;
      expect(await status()).toBe(200);
    }
    expect(keys.seen.length).toBe(4);
    // A key that is not among the stale ones may be a new one, so it is no forgery yet.
    expect(await status('new')).toBe(503);
    keys.answer = keySet(['new']);
    laterMs += MINUTE_MS;
    expect([await status('new'), await status('right')]).toEqual([200, 401]);
  });

  it('T10 rotated keys are found, by one fetch a minute at most', async () => {
    expect(await status()).toBe(200);
    keys.answer = keySet(['new', 'right']);
    expect([await status('new'), keys.seen.length]).toEqual([401, 1]);
    laterMs = MINUTE_MS;
    expect([await status('new'), await status('right'), keys.seen.length]).toEqual([200, 200, 2]);
    expect([await status('foreign'), await status('foreign'), keys.seen.length]).toEqual([401, 401, 2]);
  });
});

describe('rotated secrets', () => {
  const rotating = SENDERS.filter(({ rotates }) => rotates);

  it.each(rotating)('T10 $provider: old and new signature in one header, in any order', async (sender) => {
    const { provider, secret, other } = sender;
    for (const secrets of [[secret], [other, secret], [secret, other], [other, other, secret]]) {
      const job = await submitted(database, provider);
      const body = sender.body(job.jobId, 'succeeded');
      expect((await tell(api.url, sender, job.path, body, { secrets })).status).toBe(200);
    }
    const job = await submitted(database, provider);
    const body = sender.body(job.jobId, 'succeeded');
    expect((await tell(api.url, sender, job.path, body, { secrets: [other, other] })).status).toBe(401);
  });

  it.each(rotating)(
    'T10 $provider: two secrets here verify either, one that was removed no more',
    async (sender) => {
      const { provider, secret, other } = sender;
      const with_ = (webhookSecrets: readonly string[]) => {
        const providers = new Map(callbackProviders(http, keys.url));
        providers.set(provider, { ...providers.get(provider)!, webhookSecrets });
        return startApi(database.db, { providers });
      };
      const [both, after] = [await with_([other, secret]), await with_([other])];
      const job = await submitted(database, provider);
      const ask = (at: TestApi, by: string) =>
        tell(at.url, sender, job.path, sender.body(job.jobId, 'running'), { secrets: [by] });
      expect([(await ask(both, secret)).status, (await ask(both, other)).status]).toEqual([200, 200]);
      expect([(await ask(after, secret)).status, (await ask(after, other)).status]).toEqual([401, 200]);
      await Promise.all([both.close(), after.close()]);
    },
  );

  it('WHI-5 the right one last of sixteen verifies; WHI-4 it alone counts, not its neighbours', async () => {
    for (const sender of [infro, replicate]) {
      const job = await submitted(database, sender.provider);
      const secrets = [...Array<string>(15).fill(sender.other), sender.secret];
      const body = sender.body(job.jobId, 'succeeded');
      expect((await tell(api.url, sender, job.path, body, { secrets })).status).toBe(200);
      expect((await tell(api.url, sender, job.path, body, { secrets: secrets.slice(0, 15) })).status).toBe(
        401,
      );
    }
  });
});

describe('WHI-19 Kling, which does not sign: only our token counts', () => {
  const say = (path: string, body: string) => send(api.url, { method: 'POST', path, body });
  const event = (id: string) => JSON.stringify({ id, status: 'succeeded', external_task_id: randomUUID() });

  it('the right token: a hint, kept and woken for; any other: 401 without a trace', async () => {
    const job = await submitted(database, 'kling');
    const [, , , token = ''] = job.path.split('/');
    for (const guess of [token.slice(0, -1), `${token}A`, token.replace(/.$/, 'A'), token.toLowerCase()]) {
      if (guess !== token)
        expect((await say(`/callbacks/kling/${guess}`, event(job.jobId))).status).toBe(401);
    }
    expect(await inbox(database, job)).toEqual([]);
    expect((await say(job.path, event(job.jobId))).status).toBe(200);
    expect(await inbox(database, job)).toMatchObject([{ provider: 'kling', terminal: true }]);
    expect(api.woken.map(({ reason }) => reason)).toEqual(['callback']);
  });

  it('without a token there is no such route, whatever the body says', async () => {
    const job = await submitted(database, 'kling');
    const answer = await say('/callbacks/kling', event(job.jobId));
    expect([answer.status, answer.json()['code']]).toEqual([404, 'not_found']);
    expect(await database.db.prisma.callback.count({ where: { providerJobId: job.jobId } })).toBe(0);
  });

  it('lies in it change nothing: the job’s fate is read from the provider', async () => {
    const job = await submitted(database, 'kling');
    expect((await say(job.path, '{"id":"another","status":"failed"}')).status).toBe(200);
    const row = await database.db.prisma.generation.findUniqueOrThrow({ where: { id: job.generationId } });
    expect([row.state, row.completedAt]).toEqual(['running', null]);
  });
});
