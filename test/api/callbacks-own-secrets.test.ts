/** A provider whose callbacks are signed with the secret that their own submit named. */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callbackSecrets, makeCallbackToken, type Keyring } from '../../src/domain/keyring.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import { createProviders } from '../../src/providers/index.ts';
import { useDatabase } from '../db/database.ts';
import { startApi, testKeyring, type TestApi } from './api.ts';
import { inbox, submitted, type Submitted } from './callbacks-whi.ts';
import { send } from './client.ts';

const database = useDatabase();
const http = createOutboundHttp({ allow: [] });
const ACCOUNT_SECRET = 'whsec_of-the-whole-account';
const retired = testKeyring('retired', 9);
const ring: Keyring = { keys: [...testKeyring().keys, ...retired.keys] };
let api: TestApi;
beforeAll(async () => {
  const bfl = createProviders({ http, providers: new Map([['bfl', {}]]) }).get('bfl')!;
  // Set by mistake: no callback is signed with it.
  const configured = { provider: bfl, credentialName: 'default', webhookSecrets: [ACCOUNT_SECRET] };
  api = await startApi(database.db, { keyring: ring, providers: new Map([['bfl', configured]]) });
});
afterAll(async () => {
  await api.close();
  await http.close();
});

const secretOf = ({ submissionId }: Submitted, keys: Keyring = ring) =>
  callbackSecrets(keys, submissionId)[0];
const bodyOf = ({ jobId }: Submitted, more: object = {}) =>
  JSON.stringify({ id: jobId, status: 'Ready', result: null, ...more });
const tell = (path: string, body: string, secret: string | null) => {
  const signature = secret === null ? null : createHmac('sha256', secret).update(body).digest('hex');
  const headers = {
    'content-type': 'application/json',
    ...(signature === null ? {} : { 'x-bfl-signature': `sha256=${signature}` }),
  };
  return send(api.url, { method: 'POST', path, headers, body });
};
const wakes = ({ generationId }: Submitted) =>
  api.woken.filter(({ run }) => run.generationId === generationId).length;

describe('callbacks signed with the secret of their own submission', () => {
  it('the right one: the row, 200, one wake; sent again it is known by its bytes', async () => {
    const job = await submitted(database, 'bfl');
    const body = bodyOf(job);
    for (const _again of [1, 2]) expect((await tell(job.path, body, secretOf(job))).status).toBe(200);
    const [row, ...more] = await inbox(database, job);
    expect(more).toEqual([]);
    expect(row).toMatchObject({ provider: 'bfl', providerJobId: job.jobId, terminal: true, type: 'Ready' });
    expect(row?.eventKey).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(Buffer.from(row!.body).toString()).toBe(body);
    expect(wakes(job)).toBe(1);
  });

  it('WHI-1 of another submission, of the account, or none: 401, no trace', async () => {
    const [job, other] = [await submitted(database, 'bfl'), await submitted(database, 'bfl')];
    const token = job.path.split('.').at(-1)!;
    for (const secret of [secretOf(other), ACCOUNT_SECRET, token, '', null]) {
      expect((await tell(job.path, bodyOf(job), secret)).status).toBe(401);
    }
    expect(await inbox(database, job)).toEqual([]);
    expect(wakes(job)).toBe(0);
  });

  it('the account’s route, where no token tells whose secret it is, is not offered', async () => {
    const job = await submitted(database, 'bfl');
    for (const secret of [secretOf(job), ACCOUNT_SECRET]) {
      expect((await tell('/callbacks/bfl', bodyOf(job), secret)).status).toBe(404);
    }
    expect(await inbox(database, job)).toEqual([]);
  });

  it('T10 under a retired key of the ring it counts, under one that has left it does not', async () => {
    const job = await submitted(database, 'bfl');
    const pathUnder = (keys: Keyring) => `/callbacks/bfl/${makeCallbackToken(keys, job.submissionId).token}`;
    const gone = testKeyring('gone', 10);
    expect((await tell(pathUnder(gone), bodyOf(job), secretOf(job, gone))).status).toBe(401);
    expect((await tell(pathUnder(retired), bodyOf(job), secretOf(job, gone))).status).toBe(401);
    expect(await inbox(database, job)).toEqual([]);
    expect((await tell(pathUnder(retired), bodyOf(job), secretOf(job, retired))).status).toBe(200);
    expect(await inbox(database, job)).toHaveLength(1);
  });

  it('SEC-1 a provider that repeats the secret and the URL: neither is kept, nor logged', async () => {
    const job = await submitted(database, 'bfl');
    const [secret, token] = [secretOf(job), job.path.split('.').at(-1)!];
    const body = bodyOf(job, { webhook_secret: secret, webhook_url: `https://here.example${job.path}` });
    expect((await tell(job.path, body, secret)).status).toBe(200);
    const kept = Buffer.from((await inbox(database, job))[0]!.body).toString();
    expect(JSON.parse(kept)).toMatchObject({
      id: job.jobId,
      webhook_secret: 'hidden',
      webhook_url: `https://here.example/callbacks/bfl/${job.submissionId}.hidden`,
    });
    expect(kept + api.logs.join('')).not.toContain(secret);
    expect(kept + api.logs.join('')).not.toContain(token);
  });
});
