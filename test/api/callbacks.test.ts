import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDb, type Db } from '../../src/db/index.ts';
import { makeCallbackToken, parseKeyring } from '../../src/domain/keyring.ts';
import { createTestDatabase, type TestDatabase } from '../support/stack.ts';
import { startApi, testKeyring, WEBHOOK_SECRET, type TestApi } from './api.ts';
import { send, type Answer, type Sent } from './client.ts';
import { event, signature } from './infro.ts';
import { create, newTenant, type TestTenant } from './tenants.ts';

let database: TestDatabase;
let db: Db;
let api: TestApi;
let tenant: TestTenant;
beforeAll(async () => {
  database = await createTestDatabase();
  db = openDb(database.url, { poolSize: 20, connectWithinMs: 60_000 });
  api = await startApi(db);
  tenant = await newTenant(db, { credits: 1_000_000 });
});
afterAll(async () => {
  await api.close();
  await db.close();
  await database.drop();
});

interface Submission {
  readonly id: string;
  readonly generationId: string;
  readonly jobId: string;
  readonly path: string;
}

/** A generation whose job the provider has, with our token in its callback path. */
async function submitted({ jobId = `job_${randomUUID()}` as string | null } = {}): Promise<Submission> {
  const generationId = (await create(api.url, tenant)).json()['id'] as string;
  const id = `sub_${generationId.slice(4)}_1`;
  const handle = jobId === null ? null : JSON.stringify({ jobId });
  await db.prisma.$executeRaw`
    INSERT INTO submission (id, generation_id, ordinal, route_index, provider, credential, state, idempotency_key, request, handle,
      provider_job_id, accepted_at, unknown_at, created_at, updated_at)
    VALUES (${id}, ${generationId}, 1, 0, 'infro', 'default', ${jobId === null ? 'unknown' : 'accepted'}, ${id}, '{}', ${handle}::jsonb,
      ${jobId}, ${jobId === null ? null : new Date()}, now(), now(), now())`;
  const { token } = makeCallbackToken(testKeyring(), id);
  return { id, generationId, jobId: jobId ?? 'none', path: `/callbacks/infro/${token}` };
}

function call(path: string, body: string | Uint8Array, headers: Sent['headers'] = {}): Promise<Answer> {
  return send(api.url, {
    method: 'POST',
    path,
    headers: { 'Content-Type': 'application/json', 'INFRO-Signature': signature(body), ...headers },
    body,
  });
}

const rows = (submission: Submission) =>
  db.prisma.callback.findMany({ where: { submissionId: submission.id } });
const wakes = ({ generationId }: Submission) =>
  api.woken.filter(({ run, reason }) => run.generationId === generationId && reason === 'callback').length;

describe('POST /callbacks/{provider}/{token}', () => {
  it('a signed callback: the row with the raw bytes, exactly 200 with {}, one wake', async () => {
    const submission = await submitted();
    const body = event(submission.jobId, 'job.succeeded', 'evt_1');
    const answer = await call(submission.path, body);
    expect([answer.status, answer.text]).toEqual([200, '{}']);
    expect(await rows(submission)).toMatchObject([
      {
        provider: 'infro',
        credential: 'default',
        providerJobId: submission.jobId,
        eventKey: 'event:evt_1',
        terminal: true,
      },
    ]);
    expect(Buffer.from((await rows(submission))[0]!.body).toString()).toBe(body);
    expect(wakes(submission)).toBe(1);
  });

  it('WHI-2 the same event again and at once: 200, kept and woken once', async () => {
    const submission = await submitted();
    const body = event(submission.jobId);
    const answers = await Promise.all(Array.from({ length: 20 }, () => call(submission.path, body)));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(['200 {}']));
    expect(await rows(submission)).toHaveLength(1);
    expect(wakes(submission)).toBe(1);
  });

  it('B8 without an event id the body’s hash is the identity', async () => {
    const submission = await submitted();
    const body = JSON.stringify({ type: 'job.processing', data: { id: submission.jobId } });
    await call(submission.path, body);
    await call(submission.path, body, {
      'INFRO-Signature': signature(body, WEBHOOK_SECRET, Math.floor(Date.now() / 1_000) - 60),
    });
    expect((await rows(submission)).map(({ eventKey }) => eventKey)).toEqual([
      expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    ]);
    expect(wakes(submission)).toBe(0);
  });

  it('WHI-14 before the submit’s answer is stored: kept, and wakes because it names the job', async () => {
    const submission = await submitted({ jobId: null });
    expect((await call(submission.path, event('job_early', 'job.processing'))).status).toBe(200);
    expect(await rows(submission)).toMatchObject([{ providerJobId: 'job_early', terminal: false }]);
    expect(wakes(submission)).toBe(1);
  });

  it('WHI-15 after the generation has ended: 200, recorded, nothing woken', async () => {
    const submission = await submitted();
    await db.prisma.submission.delete({ where: { id: submission.id } });
    await send(api.url, {
      method: 'DELETE',
      path: `/v1/generations/${submission.generationId}`,
      headers: { Authorization: `Bearer ${tenant.key}` },
    });
    const answer = await call(submission.path, event(submission.jobId));
    expect([answer.status, answer.text]).toEqual([200, '{}']);
    expect(wakes(submission)).toBe(0);
  });

  it('T10 a token of a retired key verifies while the key is in the ring', async () => {
    const submission = await submitted();
    const rotated = await startApi(db, {
      keyring: parseKeyring(
        [
          'k2:' + Buffer.alloc(32, 2).toString('base64'),
          'k1:' + Buffer.alloc(32, 1).toString('base64'),
        ].join(),
      ),
    });
    const retired = await startApi(db, { keyring: testKeyring('k2', 2) });
    const body = event(submission.jobId);
    const sent = {
      method: 'POST',
      path: submission.path,
      headers: { 'INFRO-Signature': signature(body) },
      body,
    };
    expect((await send(retired.url, sent)).status).toBe(401);
    expect((await send(rotated.url, sent)).status).toBe(200);
    await Promise.all([rotated.close(), retired.close()]);
  });

  it.each([
    '{"a":"\\u001B[0m"',
    '{"p":"\\u003cb\\u003e","n":1.0,"e":1E2',
    '{"t":"😊 é"',
    '{"big":12345678901234567890',
    '{"a":1,"a":2',
  ])('B1 verifies the raw bytes of %s…', async (start) => {
    const submission = await submitted();
    const body = `${start},"type":"job.processing","data":{"id":"${submission.jobId}"}}\n`;
    expect((await call(submission.path, body)).status).toBe(200);
    const flipped = Buffer.from(body);
    flipped[3]! ^= 1;
    expect((await call(submission.path, flipped, { 'INFRO-Signature': signature(body) })).status).toBe(401);
  });
});

describe('bodies and methods', () => {
  it('WHI-9 WHI-10 gzip is 415, over 256 kB is 413', async () => {
    const submission = await submitted();
    const body = event(submission.jobId);
    const gzip = await call(submission.path, gzipSync(body), { 'Content-Encoding': 'gzip' });
    expect([gzip.status, gzip.json()['code']]).toEqual([415, 'unsupported_content_encoding']);
    const large = `${body}${' '.repeat(256 * 1024)}`;
    for (const extra of [{}, { 'Transfer-Encoding': 'chunked' }]) {
      const answer = await call(submission.path, large, extra);
      expect([answer.status, answer.json()['code']]).toEqual([413, 'body_too_large']);
    }
    expect(await rows(submission)).toEqual([]);
  });

  it('WHI-17 every other method is 405', async () => {
    const submission = await submitted();
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'HEAD']) {
      const answer = await send(api.url, { method, path: submission.path });
      expect([method, answer.status, answer.headers.allow]).toEqual([method, 405, 'POST']);
    }
  });

  it('WHI-8 WHI-11 verified bytes that are no event, or that a database can not keep, are 400', async () => {
    const submission = await submitted();
    const bodies: (string | Uint8Array)[] = [
      'not json',
      '[]',
      `\ufeff${event(submission.jobId)}`,
      Buffer.from([0xff, 0xfe]),
      Buffer.from(event(submission.jobId), 'utf16le'),
      '['.repeat(50_000),
      event(submission.jobId).replace('job.succeeded', 'job.\\u0000'),
      event(submission.jobId).replace('job.succeeded', 'job.\\ud800'),
      event(submission.jobId, 'job.succeeded', 'x'.repeat(300)),
    ];
    for (const body of bodies) {
      const answer = await call(submission.path, body);
      expect([answer.status, answer.json()['code']]).toEqual([400, 'malformed_callback']);
    }
    expect(await rows(submission)).toEqual([]);
  });

  it('an unknown provider is 404', async () => {
    const answer = await call('/callbacks/nobody', event('job_1'));
    expect([answer.status, answer.json()['code']]).toEqual([404, 'not_found']);
  });
});

describe('POST /callbacks/{provider}', () => {
  it('is matched by the job id', async () => {
    const submission = await submitted();
    expect((await call('/callbacks/infro', event(submission.jobId))).status).toBe(200);
    expect(await rows(submission)).toHaveLength(1);
    expect(wakes(submission)).toBe(1);
  });

  it('WHI-12 one of an unknown job waits unmatched, without any effect', async () => {
    const jobId = `job_${randomUUID()}`;
    const wokenBefore = api.woken.length;
    expect((await call('/callbacks/infro', event(jobId))).text).toBe('{}');
    expect(await db.prisma.callback.findMany({ where: { providerJobId: jobId } })).toMatchObject([
      { submissionId: null },
    ]);
    expect(api.woken.length).toBe(wokenBefore);
  });

  it('a verified event that names no job is answered and not kept', async () => {
    const before = await db.prisma.callback.count();
    const answer = await call('/callbacks/infro', '{"id":"evt_x","type":"account.updated","data":{}}');
    expect([answer.status, answer.text]).toEqual([200, '{}']);
    expect(await db.prisma.callback.count()).toBe(before);
  });
});
