import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { claimSubmission, loadGeneration, requestCancel, settle } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { tally, useDatabase } from './database.ts';
import { facts, generationOf, submissionOf } from './facts.ts';
import { accept, accepted, claimOf, create, newTenant, observe, receive, send } from './fixtures.ts';

const test = useDatabase({ poolSize: 20 });

const rowsOf = (id: string) =>
  test.sql<{ event_key: string }>(`SELECT event_key FROM callback WHERE submission_id = $1`, [
    submissionId(id, 1),
  ]);
const load = (generationId: string) => loadGeneration(test.db, { generationId, dueInMs: 10_000 });

describe('record_callback: one row, one wake', () => {
  it('20 concurrent equal callbacks: one row, one wake, all acknowledged', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    const same = { submissionId: submissionId(id, 1), eventKey: randomUUID(), terminal: true };
    const answers = await Promise.all(Array.from({ length: 20 }, () => receive(test.db, same)));
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ recorded: 1, duplicate: 19 });
    expect(answers.filter(({ wake }) => wake)).toHaveLength(1);
    expect(await rowsOf(id)).toEqual([{ event_key: same.eventKey }]);
    expect((await load(id))!.hints).toEqual([{ jobId: null, terminal: true }]);
  });

  it('many different terminal callbacks ask for one wake, and for a next one when it was taken', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    const one = { submissionId: submissionId(id, 1), terminal: true };
    const answers = await Promise.all(Array.from({ length: 10 }, () => receive(test.db, one)));
    expect(answers.filter(({ wake }) => wake)).toHaveLength(1);
    expect((await generationOf(test.db, id)).wakeRequestedAt).not.toBeNull();
    expect((await load(id))!.hints).toHaveLength(10);
    expect((await generationOf(test.db, id)).wakeRequestedAt).toBeNull();
    expect(await receive(test.db, one)).toMatchObject({
      outcome: 'recorded',
      wake: true,
      run: { generationId: id },
    });
  });

  it('a non-terminal callback of a known job wakes nobody', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    expect(await receive(test.db, { submissionId: submissionId(id, 1) })).toMatchObject({
      outcome: 'recorded',
      wake: false,
    });
    expect(await submissionOf(test.db, id)).toMatchObject({ terminalHintAt: null });
  });

  it('a callback that names the job of an unknown submission wakes, and stays a hint until the job is known', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await send(test.db, id, { leaseMs: 0 });
    expect(await claimSubmission(test.db, claimOf(id))).toEqual({ outcome: 'unknown' });
    const answer = await receive(test.db, { submissionId: submissionId(id, 1), jobId: 'job-cb' });
    expect(answer).toMatchObject({ outcome: 'recorded', wake: true });
    expect((await load(id))!.hints).toEqual([{ jobId: 'job-cb', terminal: false }]);
    expect((await load(id))!.hints).toEqual([{ jobId: 'job-cb', terminal: true }]);
    await accept(test.db, id, 'job-cb');
    expect((await load(id))!.hints).toEqual([]);
  });

  it('an unknown submission, or one of another provider, writes nothing', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    const refused = { outcome: 'unknown_submission', run: null, wake: false };
    expect(await receive(test.db, { submissionId: submissionId(`gen_${'0'.repeat(26)}`, 1) })).toEqual(
      refused,
    );
    expect(await receive(test.db, { submissionId: submissionId(id, 1), provider: 'other' })).toEqual(refused);
    expect(await rowsOf(id)).toEqual([]);
    expect(await submissionOf(test.db, id)).toMatchObject({ callbackCount: 0 });
  });

  it('a refused body is kept as it came', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    await receive(test.db, { submissionId: submissionId(id, 1) });
    const [row] = await test.sql<{ body: Buffer }>(`SELECT body FROM callback WHERE submission_id = $1`, [
      submissionId(id, 1),
    ]);
    expect(row!.body.toString()).toBe('{"raw":true}');
  });
});

describe('record_callback: bounds and progress', () => {
  it('the 101st is only counted; a terminal one still wakes and asks for fast polling', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    const one = { submissionId: submissionId(id, 1) };
    const answers = await Promise.all(Array.from({ length: 100 }, () => receive(test.db, one)));
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ recorded: 100 });
    expect(await receive(test.db, one)).toMatchObject({ outcome: 'capped', wake: false });
    expect(await receive(test.db, { ...one, terminal: true })).toMatchObject({
      outcome: 'capped',
      wake: true,
    });
    expect(await rowsOf(id)).toHaveLength(100);
    const submission = await submissionOf(test.db, id);
    expect(submission.callbackCount).toBe(102);
    expect(submission.terminalHintAt).not.toBeNull();
  });

  it('moves progress forwards only, and tells it once', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    for (const progress of [0.2, 0.5, 0.3, 0.5, null, 0.6])
      await receive(test.db, { submissionId: submissionId(id, 1), progress });
    expect((await generationOf(test.db, id)).progress).toBe(0.6);
    const events = await test.db.prisma.generationEvent.findMany({
      where: { generationId: id, type: 'progress' },
      orderBy: { seq: 'asc' },
    });
    expect(events.map(({ data }) => data)).toEqual([{ progress: 0.2 }, { progress: 0.5 }, { progress: 0.6 }]);
  });

  it('racing hints leave the highest progress', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        receive(test.db, { submissionId: submissionId(id, 1), progress: (i + 1) / 20 }),
      ),
    );
    expect((await generationOf(test.db, id)).progress).toBe(1);
  });

  it('believes no progress before the job is accepted', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await send(test.db, id);
    await receive(test.db, { submissionId: submissionId(id, 1), progress: 0.9 });
    expect((await generationOf(test.db, id)).progress).toBeNull();
  });
});

describe('record_callback: after the end', () => {
  it('is kept for the record, wakes nobody and changes nothing', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    await observe(test.db, id, 'failed');
    await settle(test.db, id, { state: 'failed', errorCode: 'provider_failed' });
    const [before, row] = [await facts(test.db, id), await generationOf(test.db, id)];
    const late = { submissionId: submissionId(id, 1), terminal: true, progress: 0.9 };
    expect(await receive(test.db, late)).toMatchObject({ outcome: 'recorded', wake: false });
    expect(await rowsOf(id)).toHaveLength(1);
    expect([await facts(test.db, id), await generationOf(test.db, id)]).toEqual([before, row]);
  });

  it('a cancelled generation whose run is gone is not woken either', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await send(test.db, id, { leaseMs: 0 });
    await claimSubmission(test.db, claimOf(id));
    await requestCancel(test.db, { generationId: id, tenantId: null, actor: 'operator' });
    // The wake of the cancel is still outstanding: no second one is asked for.
    expect(await receive(test.db, { submissionId: submissionId(id, 1), terminal: true })).toMatchObject({
      wake: false,
    });
  });
});

describe('record_callback: the job id is not known yet', () => {
  const unaddressed = (jobId: string, eventKey: string = randomUUID()) =>
    receive(test.db, { submissionId: null, jobId, eventKey, terminal: true });

  it('waits unmatched, once, and is adopted with the acceptance', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await send(test.db, id);
    const [job, key] = [`early-${id}`, randomUUID()];
    const early = await Promise.all(Array.from({ length: 5 }, () => unaddressed(job, key)));
    expect(early).toEqual(
      Array.from({ length: 5 }, () => ({ outcome: 'unmatched', run: null, wake: false })),
    );
    expect(await accept(test.db, id, job)).toMatchObject({ outcome: 'attached', terminalHint: true });
    expect(await rowsOf(id)).toEqual([{ event_key: key }]);
    expect((await submissionOf(test.db, id)).terminalHintAt).not.toBeNull();
    expect((await load(id))!.hints).toEqual([{ jobId: job, terminal: true }]);
  });

  it('is matched by the job id once that is known', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    expect(await unaddressed(`job-${id}`)).toMatchObject({
      outcome: 'recorded',
      wake: true,
      run: { generationId: id },
    });
    expect(await rowsOf(id)).toHaveLength(1);
  });

  it('finds the job of an older credential too: the route without token names none', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    const rotated = { submissionId: null, jobId: `job-${id}`, credential: 'second' };
    expect(await receive(test.db, rotated)).toMatchObject({ outcome: 'recorded', run: { generationId: id } });
  });

  it('of two equal job ids under two credentials it takes the one of the current credential', async () => {
    const tenant = await newTenant(test.db);
    const [first, second] = [await create(test.db, tenant), await create(test.db, tenant)];
    await send(test.db, first);
    await send(test.db, second, { credential: 'second' });
    const job = `same-${first}`;
    await accept(test.db, first, job);
    await accept(test.db, second, job);
    const seen = await receive(test.db, { submissionId: null, jobId: job, credential: 'second' });
    expect(seen).toMatchObject({ outcome: 'recorded', run: { generationId: second } });
  });

  it('the same event by both ways is one row', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await send(test.db, id);
    const [job, eventKey] = [`both-${id}`, randomUUID()];
    await unaddressed(job, eventKey);
    await receive(test.db, { submissionId: submissionId(id, 1), eventKey, jobId: job, terminal: true });
    await accept(test.db, id, job);
    expect(await rowsOf(id)).toEqual([{ event_key: eventKey }]);
    expect(
      await test.sql(`SELECT 1 FROM callback WHERE provider_job_id = $1 AND submission_id IS NULL`, [job]),
    ).toEqual([]);
  });

  it('C8 racing the acceptance 50 times: never lost, never twice, always a hint', async () => {
    const tenant = await newTenant(test.db, 5_000);
    const ids = await Promise.all(Array.from({ length: 50 }, () => create(test.db, tenant)));
    await Promise.all(ids.map((id) => send(test.db, id)));
    for (const [i, id] of ids.entries()) {
      const [job, key] = [`race-${id}`, randomUUID()];
      const both = [() => unaddressed(job, key), () => accept(test.db, id, job)];
      await Promise.all((i % 2 === 0 ? both : both.toReversed()).map((call) => call()));
      expect(await rowsOf(id)).toEqual([{ event_key: key }]);
      expect((await submissionOf(test.db, id)).terminalHintAt).not.toBeNull();
      expect((await load(id))!.hints).toEqual([{ jobId: job, terminal: true }]);
    }
  });
});
