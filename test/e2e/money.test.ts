import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCredits, setUsageLimit } from '../../src/db/index.ts';
import { eventually } from '../simulators/control.ts';
import { GRANTED, startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import {
  ask,
  call,
  expectInvariants,
  expectPromise,
  get,
  until,
  untilEnd,
  uniquePrompt,
} from '../support/generations.ts';

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ worker: false });
});
afterAll(() => room?.stop());

const credits = () => readCredits(room.db, room.tenantId, 'default');
const sql = (text: string) => room.db.prisma.$executeRawUnsafe(text);
const asking = (prompt: string, key: string, input: object = {}) =>
  call(
    room,
    'POST',
    '/v1/generations',
    { model: 'by-callback', input: { prompt, duration_seconds: 2, ...input } },
    key,
  );

/** Refuses to end the generation of this prompt with this SQLSTATE, until told to stop; a sequence counts the tries. */
async function refuseToEnd(prompt: string, sqlstate: string, most: number): Promise<() => Promise<number>> {
  await sql('CREATE SEQUENCE refusals');
  await sql(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.completed_at IS NOT NULL AND OLD.completed_at IS NULL AND NEW.input ->> 'prompt' = '${prompt}'
      AND nextval('refusals') <= ${most} THEN
      RAISE EXCEPTION 'refused' USING ERRCODE = '${sqlstate}'; END IF; RETURN NEW; END $$`);
  await sql(`CREATE TRIGGER refuse BEFORE UPDATE ON generation FOR EACH ROW EXECUTE FUNCTION refuse()`);
  return async () => {
    const rows = await room.db.prisma.$queryRaw<
      { tries: number }[]
    >`SELECT last_value::int AS tries FROM refusals`;
    await sql('DROP FUNCTION refuse() CASCADE');
    await sql('DROP SEQUENCE refusals');
    return rows[0]?.tries ?? 0;
  };
}

describe('a submit whose worker dies before its answer is recorded', () => {
  it('A3 T2 the next attempt sends the same key, and there is one job, one hold, one capture', async () => {
    const dying = await room.startWorker('before:record_submission');
    const asked = await ask(room, 'by-poll', uniquePrompt('same key'));
    await dying.ended;
    const [before] = await room.db.prisma.submission.findMany({ where: { generationId: asked.id } });
    await room.startWorker();
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    const { requests, jobs } = await room.sim.journal(asked.prompt);
    const keys = requests.filter(({ method }) => method === 'POST').map((request) => request.idempotency_key);
    expect(keys.length).toBeGreaterThanOrEqual(2);
    expect(new Set(keys)).toEqual(new Set([before?.idempotencyKey]));
    const after = await room.db.prisma.submission.findMany({ where: { generationId: asked.id } });
    expect(after).toMatchObject([{ id: before?.id, request: before?.request, providerJobId: jobs[0]?.id }]);
  });
});

describe('a settle that the database refuses', () => {
  it('G1 the state once, after the balance was written: the activity tries again, one capture, the balance once', async () => {
    const before = await credits();
    const prompt = uniquePrompt('refused once');
    // A cancelled statement: nothing that the call repeats by itself.
    const stop = await refuseToEnd(prompt, '57014', 1);
    const asked = await ask(room, 'by-callback', prompt);
    await untilEnd(room, asked.id);
    expect(await stop()).toBe(2);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect((await credits())!.spent).toBe(before!.spent + 40);
  });

  it('G7 for as long as it likes: held past the deadline, tried again and again, never released; then captured', async () => {
    const before = await credits();
    const prompt = uniquePrompt('deadlocks');
    const stop = await refuseToEnd(prompt, '40P01', 1_000_000);
    const asked = await ask(room, 'short-deadline', prompt, { deadline_seconds: 10 });
    const { deadline_at: deadlineAt } = await get(room, asked.id);
    const pending = await eventually(async () => {
      const { raw } = await room.client.workflow.getHandle(asked.id).describe();
      const settling = raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'settle');
      const tried = (settling?.attempt ?? 0) >= 2 && Date.now() > Date.parse(deadlineAt) + 2_000;
      // More than one call makes by itself: an attempt that failed for want of a connection is none of them.
      const [refused] = await room.db.prisma.$queryRaw<
        { tries: number }[]
      >`SELECT last_value::int AS tries FROM refusals`;
      return tried && (refused?.tries ?? 0) > 8 ? settling : undefined;
    }, 90_000);
    expect(pending.lastFailure?.message).toBe('database unavailable');
    expect(await get(room, asked.id)).toMatchObject({ state: 'running', credits: { held: 40, released: 0 } });
    expect(await credits()).toMatchObject({ held: 40, spent: before!.spent });
    expect(await stop()).toBeGreaterThan(8);
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });

  it('G7 for a reason that no try can mend: set aside for an operator past the deadline, hold intact; then captured', async () => {
    const prompt = uniquePrompt('broken');
    const stop = await refuseToEnd(prompt, 'P0001', 1_000_000);
    const asked = await ask(room, 'short-deadline', prompt, { deadline_seconds: 10 });
    const parked = await until(room, asked.id, ({ stage }) => stage === 'needs_operator');
    await eventually(() => (Date.now() > Date.parse(parked.deadline_at) + 1_000 ? true : undefined), 90_000);
    expect(await get(room, asked.id)).toMatchObject({
      stage: 'needs_operator',
      credits: { held: 40, released: 0 },
    });
    await stop();
    await room.client.workflow.getHandle(asked.id).signal('wake', { reason: 'operator' });
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });
});

describe('G8 failures in a row at the limit', () => {
  it('each release comes with its failure, so 11 to 15 are let in; none is left; T3 the key of a failed one replays it', async () => {
    const before = await credits();
    const limit = (generationsInFlight: number | null) =>
      setUsageLimit(room.db, {
        tenantId: room.tenantId,
        scope: 'each_account',
        account: null,
        generationsInFlight,
        creditsPerDay: null,
        requestsPerMinute: null,
        cancelsPerDay: null,
        reason: 'test',
        actor: 'test',
      });
    await limit(10);
    const prompt = uniquePrompt('fails');
    await room.sim.fault(prompt, { kind: 'stuck', times: 10 }, { kind: 'fail' });
    const first = await Promise.all(Array.from({ length: 10 }, (_, n) => asking(prompt, `g8-${n}`)));
    expect(first.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 202));
    const refused = await asking(prompt, 'g8-10');
    expect({ status: refused.status, code: refused.body.code }).toEqual({
      status: 429,
      code: 'too_many_generations',
    });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    const jobs = await eventually(async () => {
      const taken = (await room.sim.journal(prompt)).jobs;
      return taken.length === 10 ? taken : undefined;
    }, 60_000);
    await Promise.all(jobs.map(({ id }) => room.sim.post(`jobs/${id}`, { status: 'failed' })));
    await Promise.all(first.map(({ body }) => untilEnd(room, body.id)));
    const later = await Promise.all(Array.from({ length: 5 }, (_, n) => asking(prompt, `g8-${10 + n}`)));
    expect(later.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202]);
    const ends = await Promise.all(later.map(({ body }) => untilEnd(room, body.id)));
    for (const { state, credits: told } of ends)
      expect({ state, told }).toEqual({
        state: 'failed',
        told: { held: 0, captured: 0, released: 40, refunded: 0 },
      });
    const replay = await asking(prompt, 'g8-0');
    expect({ id: replay.body.id, replayed: replay.headers.get('idempotent-replayed') }).toEqual({
      id: first[0]!.body.id,
      replayed: 'true',
    });
    await limit(null);
    expect(await credits()).toEqual(before);
    await expectInvariants(room);
  });
});

describe('T43 quantities that no price is for', () => {
  it.each([
    '-1',
    '0',
    '1.5',
    '16',
    '1e9',
    '9007199254740992',
    '1e400',
    '-85930',
    '"5"',
    'null',
    'NaN',
    '[2]',
  ])('duration_seconds %s: 400, nothing is held', async (quantity) => {
    const answer = await fetch(`${room.apiUrl}/v1/generations`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${room.key}`,
        'content-type': 'application/json',
        'idempotency-key': crypto.randomUUID(),
      },
      body: `{"model":"by-callback","input":{"prompt":"x","duration_seconds":${quantity}}}`,
    });
    expect(answer.status).toBe(400);
    expect((await credits())!.held).toBe(0);
  });

  it('T7 the document says to send the same key for a retry of the same intent', async () => {
    const document = await (await fetch(`${room.apiUrl}/openapi.json`)).text();
    expect(document).toMatch(/One new random value for each intent.*Send the same key to retry/);
    expect(GRANTED).toBe((await credits())!.granted);
  });
});
