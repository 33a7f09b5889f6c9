import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useDatabase } from '../db/database.ts';
import { keySet } from '../providers/fal-keys.ts';
import { httpTo, ScriptedServer } from '../providers/scripted-server.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { startApi, stubDb, type TestApi } from './api.ts';
import { callbackProviders, inbox, SENDERS, submitted, tell } from './callbacks-whi.ts';
import { send, type Sent } from './client.ts';

const database = useDatabase({ poolSize: 4 });
let keys: ScriptedServer;
let http: OutboundHttp;
let api: TestApi;
beforeAll(async () => {
  keys = await ScriptedServer.start();
  keys.answer = keySet(['right']);
  http = httpTo(keys.url);
  api = await startApi(database.db, { providers: callbackProviders(http, keys.url) });
});
afterAll(async () => {
  await api.close();
  await http.close();
  await keys.close();
});

const say = (path: string, body: string, headers: Sent['headers'] = {}, url = api.url) =>
  send(url, { method: 'POST', path, headers: { 'content-type': 'application/json', ...headers }, body });
const asks = (challenge: unknown) => JSON.stringify({ challenge });

describe('MiniMax checks our callback URL before it calls there', () => {
  it('with the token of a submission: the challenge comes back as JSON, and nothing is kept', async () => {
    const job = await submitted(database, 'minimax');
    const answer = await say(job.path, asks('8f14e45f-ceea.367a'));
    expect([answer.status, answer.text]).toEqual([200, '{"challenge":"8f14e45f-ceea.367a"}']);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
    });
    expect(await inbox(database, job)).toEqual([]);
    expect(api.woken).toEqual([]);
  });

  it('the database is not asked for it', async () => {
    const job = await submitted(database, 'minimax');
    const guarded = await startApi(stubDb().db, { providers: callbackProviders(http, keys.url) });
    expect((await say(job.path, asks('abc'), {}, guarded.url)).text).toBe('{"challenge":"abc"}');
    await guarded.close();
  });

  it('what could be read as a page comes back as JSON text only', async () => {
    const job = await submitted(database, 'minimax');
    const answer = await say(job.path, asks('<script>"a"</script>'), { accept: 'text/html' });
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.json()).toEqual({ challenge: '<script>"a"</script>' });
  });

  it('with a wrong token, or without one: refused, and nothing of it comes back', async () => {
    const job = await submitted(database, 'minimax');
    const other = await submitted(database, 'minimax');
    const [, , , token = ''] = job.path.split('/');
    const [otherId = ''] = (other.path.split('/')[3] ?? '').split('.');
    const guesses = [
      `${token.slice(0, -4)}AAAA`,
      `${token}A`,
      token.split('.')[0] ?? '',
      `${otherId}.${token.split('.')[1]}`,
    ];
    for (const guess of guesses) {
      const answer = await say(`/callbacks/minimax/${guess}`, asks('canary-1'));
      expect([answer.status, answer.json()['code']]).toEqual([401, 'callback_unverified']);
      expect(answer.text).not.toContain('canary-1');
    }
    const bare = await say('/callbacks/minimax', asks('canary-1'));
    expect([bare.status, bare.json()['code']]).toEqual([404, 'not_found']);
    expect(bare.text).not.toContain('canary-1');
  });

  it.each([
    ['endless', `canary-2${'x'.repeat(300)}`],
    ['empty', ''],
    ['with a space', 'canary-2 x'],
    ['with a line break', 'canary-2\n'],
    ['with NUL', 'canary-2\u0000'],
    ['not ASCII', 'canary-2é'],
    ['a number', 42],
    ['an object', { 'canary-2': 1 }],
    ['nothing', null],
  ])('a challenge that is %s is refused', async (_name, challenge) => {
    const job = await submitted(database, 'minimax');
    const answer = await say(job.path, asks(challenge));
    expect([answer.status, answer.json()['code']]).toEqual([400, 'malformed_callback']);
    expect(answer.text).not.toContain('canary-2');
    expect(await inbox(database, job)).toEqual([]);
  });

  it('a callback that names a task is a callback, whatever else is in it', async () => {
    const job = await submitted(database, 'minimax');
    const body = JSON.stringify({ challenge: 'canary-3', task: { id: job.jobId, status: 'succeeded' } });
    const answer = await say(job.path, body);
    expect([answer.status, answer.text]).toEqual([200, '{}']);
    expect(await inbox(database, job)).toMatchObject([
      { provider: 'minimax', providerJobId: job.jobId, type: 'task.succeeded', terminal: true },
    ]);
  });
});

describe('providers that make no such check', () => {
  it.each(SENDERS)('$provider, rightly signed: a challenge is no event of it', async (sender) => {
    const job = await submitted(database, sender.provider);
    const answer = await tell(api.url, sender, job.path, asks('canary-4'));
    expect(answer.status).not.toBe(500);
    expect(answer.text).not.toContain('canary-4');
  });

  it('Kling, unsigned as well: a hint without content', async () => {
    const job = await submitted(database, 'kling');
    const answer = await say(job.path, asks('canary-4'));
    expect([answer.status, answer.text]).toEqual([200, '{}']);
  });
});
