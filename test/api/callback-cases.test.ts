import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useDatabase } from '../db/database.ts';
import { keySet } from '../providers/fal-keys.ts';
import { httpTo, ScriptedServer } from '../providers/scripted-server.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { startApi, type TestApi } from './api.ts';
import { callbackProviders, inbox, SENDERS, submitted, tell } from './callbacks-whi.ts';

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

describe.each(SENDERS)('$provider', (sender) => {
  it('T8 the signature is over the bytes, not over what they parse to', async () => {
    const job = await submitted(database, sender.provider);
    const form = `payload=${encodeURIComponent(sender.body(job.jobId, 'succeeded'))}`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    // Rightly signed, so it is its form that is refused; as the JSON in it would be written it is not signed at all.
    const asSent = await tell(api.url, sender, job.path, form, { headers });
    expect([asSent.status, asSent.json()['code']]).not.toEqual([401, 'callback_unverified']);
    const spaced = `  ${sender.body(job.jobId, 'succeeded')}\n`;
    expect((await tell(api.url, sender, job.path, spaced)).status).toBe(200);
    expect((await inbox(database, job)).map(({ body }) => Buffer.from(body).toString())).toEqual([spaced]);
  });

  it('T12 a delivery is told from another by signed content only', async () => {
    const job = await submitted(database, sender.provider);
    const body = sender.body(job.jobId, 'succeeded');
    const eventId = 'msg_one';
    for (const unsigned of ['first', 'second']) {
      const headers = { 'x-delivery-id': unsigned, 'x-request-id': unsigned };
      expect((await tell(api.url, sender, job.path, body, { eventId, headers })).status).toBe(200);
    }
    expect(await inbox(database, job)).toHaveLength(1);
  });
});
