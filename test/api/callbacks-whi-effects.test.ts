import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadGeneration } from '../../src/db/index.ts';
import { sweepDue } from '../../src/services/sweep-due.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { useDatabase } from '../db/database.ts';
import { accept } from '../db/fixtures.ts';
import { finish } from '../db/finish.ts';
import { untilWaiting } from '../db/waiting.ts';
import { keySet } from '../providers/fal-keys.ts';
import { httpTo, ScriptedServer } from '../providers/scripted-server.ts';
import { startApi, stubDb, type TestApi } from './api.ts';
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

const wakes = ({ generationId }: Submitted, of: TestApi = api) =>
  of.woken.filter(({ run, reason }) => run.generationId === generationId && reason === 'callback').length;
const generation = ({ generationId }: Submitted) =>
  database.db.prisma.generation.findUniqueOrThrow({ where: { id: generationId } });
const submission = ({ submissionId }: Submitted) =>
  database.db.prisma.submission.findUniqueOrThrow({ where: { id: submissionId } });

describe.each(SENDERS)('callbacks of $provider', (sender) => {
  const { provider } = sender;
  const fresh = () => submitted(database, provider);

  it('WHI-2 twenty times the same at once, by both routes: 200, one row, one wake', async () => {
    const job = await fresh();
    const body = sender.body(job.jobId, 'succeeded');
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        tell(api.url, sender, i % 2 === 0 ? job.path : `/callbacks/${provider}`, body, {
          eventId: 'msg_same',
        }),
      ),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(['200 {}']));
    expect(await inbox(database, job)).toHaveLength(1);
    expect(wakes(job)).toBe(1);
  });

  it('WHI-2 re-sent later, signed anew: the same event, kept once', async () => {
    const job = await fresh();
    const body = sender.body(job.jobId, 'succeeded', 'evt_same');
    const now = Math.floor(Date.now() / 1_000);
    for (const t of [now - 120, now - 60, now]) {
      expect((await tell(api.url, sender, job.path, body, { t, eventId: 'msg_same' })).status).toBe(200);
    }
    expect(await inbox(database, job)).toHaveLength(1);
  });

  it('WHI-12 an event about the job of another, at this one’s URL: kept here, nothing there', async () => {
    const [mine, theirs] = [await fresh(), await fresh()];
    const answer = await tell(api.url, sender, mine.path, sender.body(theirs.jobId, 'succeeded'));
    expect(answer.status).toBe(200);
    expect(await inbox(database, theirs)).toEqual([]);
    expect(wakes(theirs)).toBe(0);
    expect((await submission(theirs)).terminalHintAt).toBeNull();
    expect((await submission(mine)).providerJobId).toBe(mine.jobId);
    expect((await generation(mine)).state).toBe('running');
  });

  it('WHI-12 WHI-14 of an unknown job on the account’s route: waits, is adopted with the job’s id', async () => {
    const jobId = `early-${randomUUID()}`;
    const early = sender.body(jobId, 'succeeded');
    expect((await tell(api.url, sender, `/callbacks/${provider}`, early)).status).toBe(200);
    expect(await database.db.prisma.callback.findMany({ where: { providerJobId: jobId } })).toMatchObject([
      { submissionId: null, provider, credential: 'default', terminal: true },
    ]);
    const job = await submitted(database, provider, { jobId: null });
    const recorded = await accept(database.db, job.generationId, jobId);
    expect(recorded.terminalHint).toBe(true);
    expect(await inbox(database, job)).toMatchObject([{ providerJobId: jobId }]);
  });

  it('WHI-14 before the answer of the submit: kept by our token, and wakes', async () => {
    const job = await submitted(database, provider, { jobId: null });
    expect((await tell(api.url, sender, job.path, sender.body('early-1', 'succeeded'))).status).toBe(200);
    expect(await inbox(database, job)).toMatchObject([{ providerJobId: 'early-1', terminal: true }]);
    expect(wakes(job)).toBe(1);
    expect((await submission(job)).providerJobId).toBeNull();
  });

  it('WHI-13 any order, two contrary ends: hints only, the first is kept, nothing is settled', async () => {
    const job = await fresh();
    const say = (state: 'running' | 'succeeded' | 'failed') =>
      tell(api.url, sender, job.path, sender.body(job.jobId, state));
    await say('succeeded');
    const first = (await submission(job)).terminalHintAt;
    expect(first).not.toBeNull();
    for (const state of ['running', 'failed', 'succeeded'] as const) await say(state);
    expect((await submission(job)).terminalHintAt).toEqual(first);
    const row = await generation(job);
    expect([row.state, row.completedAt, row.successAt, row.progress]).toEqual(['running', null, null, null]);
    expect((await submission(job)).endedAt).toBeNull();
    expect(wakes(job)).toBe(1);
  });

  it('WHI-15 after the end: 200, recorded, nothing changes and nobody is woken', async () => {
    const job = await fresh();
    await finish(database.db, job.generationId);
    const before = await generation(job);
    expect((await tell(api.url, sender, job.path, sender.body(job.jobId, 'succeeded'))).status).toBe(200);
    expect(await inbox(database, job)).toHaveLength(1);
    expect(await generation(job)).toEqual(before);
    expect(wakes(job)).toBe(0);
  });

  it('WHI-16 with Temporal down: 200 as soon as the row stands, and the sweep wakes', async () => {
    const job = await fresh();
    const down = await startApi(database.db, {
      providers: callbackProviders(http, keys.url),
      // What a start queue says that is full, because nobody takes from it.
      starter: { enqueue: () => false },
    });
    expect((await tell(down.url, sender, job.path, sender.body(job.jobId, 'succeeded'))).status).toBe(200);
    await down.close();
    expect(await inbox(database, job)).toHaveLength(1);
    expect((await generation(job)).wakeRequestedAt).not.toBeNull();
    const ensured: string[] = [];
    const deps = {
      db: database.db,
      ensure: async ({ generationId }: { generationId: string }) => void ensured.push(generationId),
      onProblem: () => {},
    };
    const moveWake = (seconds: number) =>
      database.sql(
        `UPDATE generation SET wake_requested_at = wake_requested_at + $2 * interval '1 second' WHERE id = $1`,
        [job.generationId, seconds],
      );
    // Not yet overdue, however slow the machine is.
    await moveWake(60);
    await sweepDue(deps);
    expect(ensured).not.toContain(job.generationId);
    await moveWake(-66);
    await sweepDue(deps);
    expect(ensured).toContain(job.generationId);
  });

  it('WHI-16 never before the commit: while the row is locked there is no answer', async () => {
    const job = await fresh();
    const client = await database.connect();
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM generation WHERE id = $1 FOR UPDATE', [job.generationId]);
    let answered = false;
    const answer = tell(api.url, sender, job.path, sender.body(job.jobId, 'succeeded')).finally(() => {
      answered = true;
    });
    await untilWaiting(database, 1);
    expect([answered, await inbox(database, job)]).toEqual([false, []]);
    await client.query('COMMIT');
    expect((await answer).status).toBe(200);
    expect(await inbox(database, job)).toHaveLength(1);
  });

  it('at most 100 rows of one submission: more are answered 200 and counted, and the last end still wakes', async () => {
    const job = await fresh();
    for (let round = 0; round < 11; round++) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          tell(
            api.url,
            sender,
            job.path,
            `${sender.body(job.jobId, 'running')}${' '.repeat(round * 10 + i)}`,
          ),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    }
    // fal's event id is request and state: all of these are one event.
    const kept = provider === 'fal' ? 1 : 100;
    expect(await inbox(database, job)).toHaveLength(kept);
    expect((await submission(job)).callbackCount).toBe(provider === 'fal' ? 1 : 110);
    expect(wakes(job)).toBe(0);
    expect((await tell(api.url, sender, job.path, sender.body(job.jobId, 'succeeded'))).status).toBe(200);
    expect(await inbox(database, job)).toHaveLength(provider === 'fal' ? 2 : 100);
    expect(wakes(job)).toBe(1);
  });

  it('fifty different ends at once: one wake is outstanding, the next comes when the run has read its rows', async () => {
    const job = await fresh();
    const ends = (n: number) =>
      Promise.all(
        Array.from({ length: n }, (_, i) => {
          const state = i % 2 === 0 ? 'succeeded' : 'failed';
          return tell(api.url, sender, job.path, `${sender.body(job.jobId, state)}${' '.repeat(i)}`);
        }),
      );
    await ends(50);
    expect(wakes(job)).toBe(1);
    await loadGeneration(database.db, { generationId: job.generationId, dueInMs: 60_000 });
    expect((await generation(job)).wakeRequestedAt).toBeNull();
    await ends(2);
    // fal tells each end of a request once: nothing new has come.
    expect(wakes(job)).toBe(provider === 'fal' ? 1 : 2);
  });

  it('WHI-19 a token is needed beside the signature, belongs to one submission, and is in no log', async () => {
    const [job, next] = [await fresh(), await fresh()];
    const body = sender.body(job.jobId, 'succeeded');
    const [, , , token = ''] = job.path.split('/');
    const [id = '', mac = ''] = token.split('.');
    expect(Buffer.from(mac, 'base64url').length).toBe(32);
    const [otherId = ''] = (next.path.split('/')[3] ?? '').split('.');
    for (const forged of [id, `${id}.`, `${id}.${mac.slice(0, -1)}`, `${otherId}.${mac}`, `${id}.${mac}A`]) {
      expect((await tell(api.url, sender, `/callbacks/${provider}/${forged}`, body)).status).toBe(401);
    }
    expect((await tell(api.url, sender, job.path, body)).status).toBe(200);
    expect(api.logs.join('')).not.toContain(mac);
    expect((await tell(api.url, sender, `${job.path}?x=1`, body)).status).toBe(200);
    expect(await send(api.url, { method: 'POST', path: `${job.path}/more`, body })).toMatchObject({
      status: 404,
    });
  });
});

it('WHI-18 a thousand forged calls: 401 each, the database is not asked once, honest ones pass', async () => {
  const jobs = await Promise.all(SENDERS.map(({ provider }) => submitted(database, provider)));
  const stub = stubDb();
  const guarded = await startApi(stub.db, { providers: callbackProviders(http, keys.url) });
  const forge = (n: number) => {
    const at = n % SENDERS.length;
    const [sender, job] = [SENDERS[at]!, jobs[at]!];
    const path = n % 2 === 0 ? job.path : `${job.path.slice(0, -4)}AAAA`;
    return tell(guarded.url, sender, path, sender.body(job.jobId, 'succeeded'), { secrets: [sender.other] });
  };
  const lanes = Array.from({ length: 20 }, async (_, lane) => {
    const codes: number[] = [];
    for (let n = 0; n < 50; n++) codes.push((await forge(lane * 50 + n)).status);
    return codes;
  });
  const honest = Promise.all(
    SENDERS.map((sender, at) =>
      tell(api.url, sender, jobs[at]!.path, sender.body(jobs[at]!.jobId, 'failed')),
    ),
  );
  expect((await honest).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await Promise.all(lanes)).flat()).toEqual(Array.from({ length: 1_000 }, () => 401));
  expect([stub.reads, stub.calls]).toEqual([0, []]);
  // A signature that fits no key of fal leads to a new fetch at most once a minute.
  expect(keys.seen.length).toBeLessThanOrEqual(4);
  await guarded.close();
}, 90_000);
