import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useDatabase } from '../db/database.ts';
import { keySet } from '../providers/fal-keys.ts';
import { httpTo, ScriptedServer } from '../providers/scripted-server.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { startApi, type TestApi } from './api.ts';
import { callbackProviders, inbox, SENDERS, submitted, tell, type Submitted } from './callbacks-whi.ts';
import { send } from './client.ts';

const database = useDatabase({ poolSize: 10 });
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

const seconds = () => Math.floor(Date.now() / 1_000);
const wakes = ({ generationId }: Submitted) =>
  api.woken.filter(({ run }) => run.generationId === generationId).length;

describe.each(SENDERS)('callbacks of $provider', (sender) => {
  const { provider, secret, other } = sender;
  let job: Submitted;
  let body: string;
  beforeAll(async () => {
    job = await submitted(database, provider);
    body = sender.body(job.jobId, 'succeeded');
  });
  /** Nothing was written and nobody woken, whatever has been tried before. */
  const expectNoTrace = async () => {
    expect(await inbox(database, job)).toEqual([]);
    expect(await database.db.prisma.callback.count({ where: { providerJobId: job.jobId } })).toBe(0);
    expect(wakes(job)).toBe(0);
  };

  it('WHI-1 no, empty, foreign signature, on both routes: 401 with one body, no trace', async () => {
    const removed = Object.fromEntries(sender.signed.map((name) => [name, []]));
    const emptied = Object.fromEntries(sender.signed.map((name) => [name, '']));
    const texts = new Set<string>();
    for (const path of [job.path, `/callbacks/${provider}`]) {
      for (const options of [{ headers: removed }, { headers: emptied }, { secrets: [other] }]) {
        const headers = { 'x-request-id': 'same', ...('headers' in options ? options.headers : {}) };
        const answer = await tell(api.url, sender, path, body, { ...options, headers });
        expect(answer.status).toBe(401);
        texts.add(answer.text);
      }
    }
    expect(texts.size).toBe(1);
    await expectNoTrace();
  });

  it('WHI-1 the right signature of another provider, or at the path of another: 401', async () => {
    for (const foreign of SENDERS.filter((candidate) => candidate !== sender)) {
      expect((await tell(api.url, foreign, job.path, body)).status).toBe(401);
    }
    // Another provider's name with this submission's token proves nothing but the token.
    const elsewhere = SENDERS.find((candidate) => candidate !== sender)!;
    const moved = job.path.replace(`/${provider}/`, `/${elsewhere.provider}/`);
    expect((await tell(api.url, sender, moved, body)).status).toBe(401);
    await expectNoTrace();
  });

  it.each([
    ['10 min ahead', () => seconds() + 600],
    ['just outside, ahead', () => seconds() + 330],
    ['just outside, behind', () => seconds() - 330],
    ['0', () => 0],
    ['negative', () => -seconds()],
    ['a fraction', () => `${seconds()}.5`],
    ['letters behind it', () => `${seconds()}abc`],
    ['a list', () => `${seconds()}, ${seconds()}`],
    ['20 digits', () => '9'.repeat(20)],
    ['milliseconds', () => Date.now()],
  ])('WHI-3 signed time: %s: 401', async (_name, t) => {
    expect((await tell(api.url, sender, job.path, body, { t: t() })).status).toBe(401);
    await expectNoTrace();
  });

  it('WHI-4 another scheme, and a public text used as secret: 401', async () => {
    const { signature } = sender;
    const good = sender.sign(body, [secret], seconds(), 'msg_1');
    const text = String(good[signature]);
    const forged = [
      text.replace(/v1/g, 'v0'),
      text.replace(/v1/g, 'v2'),
      text.replace(/v1/g, 'v1a'),
      text.toUpperCase(),
    ].filter((candidate) => candidate !== text);
    for (const value of forged) {
      const answer = await send(api.url, {
        method: 'POST',
        path: job.path,
        headers: { ...good, [signature]: value },
        body,
      });
      expect([value, answer.status]).toEqual([value, 401]);
    }
    await expectNoTrace();
  });

  it('WHI-5 sixteen kilobytes of signatures never reach the check', async () => {
    const { signature } = sender;
    const headers = { [signature]: 'v1,AAAA '.repeat(10_000) };
    expect((await tell(api.url, sender, job.path, body, { headers })).status).toBe(431);
    await expectNoTrace();
  });

  it('WHI-6 a signed header that comes twice: 401, whichever it is', async () => {
    const good = sender.sign(body, [secret], seconds(), 'msg_1');
    for (const name of sender.signed) {
      for (const second of [String(good[name]), 'x']) {
        const headers = { ...good, [name]: [String(good[name]), second] };
        const answer = await send(api.url, { method: 'POST', path: job.path, headers, body });
        expect([name, answer.status]).toEqual([name, 401]);
      }
    }
    await expectNoTrace();
  });

  it('WHI-7 one space, another order of members, other line ends: 401', async () => {
    const good = sender.sign(body, [secret], seconds(), 'msg_1');
    const parsed = JSON.parse(body) as object;
    const changed = [
      `${body} `,
      body.replace(':', ': '),
      JSON.stringify(Object.fromEntries(Object.entries(parsed).reverse())),
      `${body}\r\n`,
      JSON.stringify(parsed, null, 2),
    ];
    for (const forged of changed) {
      const answer = await send(api.url, { method: 'POST', path: job.path, headers: good, body: forged });
      expect(answer.status).toBe(401);
    }
    await expectNoTrace();
  });

  it('WHI-8 verified over the raw bytes, then no JSON text: 400', async () => {
    const bodies = [
      Buffer.from([0xff, 0xfe, 0x00]),
      Buffer.from(body, 'utf16le'),
      Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(body)]),
      Buffer.concat([Buffer.from(body.slice(0, -1)), Buffer.from([0xc3, 0x28, 0x7d])]),
    ];
    for (const raw of bodies) {
      const headers = { 'content-type': 'application/json; charset=utf-16' };
      const answer = await tell(api.url, sender, job.path, raw, { headers });
      expect([answer.status, answer.json()['code']]).toEqual([400, 'malformed_callback']);
    }
    await expectNoTrace();
  });

  it('WHI-9 gzip, signed packed or unpacked, small or a bomb: 415, never inflated', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    for (const [raw, over] of [
      [gzipSync(body), gzipSync(body)],
      [gzipSync(body), body],
      [bomb, bomb],
    ] as const) {
      const headers = {
        ...sender.sign(over, [secret], seconds(), 'msg_1'),
        'content-encoding': 'gzip',
      };
      const answer = await send(api.url, { method: 'POST', path: job.path, headers, body: raw });
      expect([answer.status, answer.json()['code']]).toEqual([415, 'unsupported_content_encoding']);
      expect(answer.headers['accept-encoding']).toBe('identity');
    }
    await expectNoTrace();
  });

  it('WHI-10 one byte above 256 kB: 413, with a length and without', async () => {
    const large = `${body}${' '.repeat(262_145 - Buffer.byteLength(body))}`;
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
      const answer = await tell(api.url, sender, job.path, large, { headers });
      expect([answer.status, answer.json()['code']]).toEqual([413, 'body_too_large']);
    }
    await expectNoTrace();
  });

  it('WHI-11 hostile JSON is taken or refused, never a 500, and pollutes nothing', async () => {
    const id = JSON.stringify(job.jobId);
    const bodies: readonly [string, number][] = [
      [body.replace(id, `"${'x'.repeat(300)}"`), 400],
      [body.replace(id, '"a\\u0000b"'), 400],
      [body.replace(id, '"a\\ud800b"'), 400],
      [body.replace(id, '1e400'), 400],
      [body.replace(id, '{"__proto__":{"polluted":true}}'), 400],
      ['['.repeat(50_000), 400],
      [`{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`, 400],
      ['null', 400],
    ];
    for (const [hostile, status] of bodies) {
      const answer = await tell(api.url, sender, job.path, hostile);
      expect([hostile.slice(0, 60), answer.status]).toEqual([hostile.slice(0, 60), status]);
    }
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    await expectNoTrace();
  });

  it('WHI-17 GET, PUT and OPTIONS are 405 on both routes', async () => {
    for (const path of [job.path, `/callbacks/${provider}`]) {
      for (const method of ['GET', 'PUT', 'OPTIONS', 'DELETE']) {
        const answer = await send(api.url, { method, path });
        expect([method, answer.status, answer.headers.allow]).toEqual([method, 405, 'POST']);
      }
    }
  });

  it('WHI-10 exactly 256 kB is taken, also without a length', async () => {
    const fresh = await submitted(database, provider);
    const event = sender.body(fresh.jobId, 'running');
    const whole = `${event}${' '.repeat(262_144 - Buffer.byteLength(event))}`;
    const headers = { 'transfer-encoding': 'chunked' };
    expect((await tell(api.url, sender, fresh.path, whole, { headers })).status).toBe(200);
    expect((await inbox(database, fresh))[0]?.body.length).toBe(262_144);
  });

  it.each([-290, 290])('a clock that is %i s off is no attack', async (offset) => {
    const fresh = await submitted(database, provider);
    const event = sender.body(fresh.jobId, 'succeeded');
    expect((await tell(api.url, sender, fresh.path, event, { t: seconds() + offset })).status).toBe(200);
    expect(wakes(fresh)).toBe(1);
  });

  it('the service’s own clock 10 min off: 401 for all, until it is right again', async () => {
    const fresh = await submitted(database, provider);
    const event = sender.body(fresh.jobId, 'succeeded');
    for (const offsetMs of [-600_000, 600_000]) {
      const off = await startApi(database.db, {
        providers: callbackProviders(http, keys.url),
        nowMs: () => Date.now() + offsetMs,
      });
      expect((await tell(off.url, sender, fresh.path, event)).status).toBe(401);
      await off.close();
    }
    expect((await tell(api.url, sender, fresh.path, event)).status).toBe(200);
  });
});
