import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Catalogue } from '../../src/domain/catalogue.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { commandsOn, jsonOf } from '../cli/run.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import {
  ask,
  expectInvariants,
  expectPromise,
  get,
  until,
  untilEnd,
  uniquePrompt,
} from '../support/generations.ts';
import type { Asked } from '../support/generations.ts';
import { video } from '../support/provider-models.ts';
import { copyDatabase } from '../support/restore.ts';
import { unknownCatalogue } from '../support/unknown-models.ts';

const LIMIT_MS = 60_000;
/** So that a submit whose answer can't be recorded stays in flight until everything stops. */
const patient = { submitHttpTimeoutMs: 200_000, submitLeaseMs: 210_000, submitStartToCloseMs: 220_000 };
const catalogue: Catalogue = {
  models: unknownCatalogue.models
    .filter(({ id }) => id.startsWith('kill-'))
    .map((model) => ({ ...model, timings: { ...model.timings, ...patient } })),
};
/** Accepted, and killed before the answer came. */
const IN_FLIGHT = ['infro', 'kling', 'replicate', 'crazyrouter'] as const;
/** Delivered and charged before the restore. */
const DELIVERED = ['infro', 'crazyrouter'] as const;

let room: Darkroom;
let restoredAt: string;
let lost: Awaited<ReturnType<typeof submissions>>;
let gone: Asked;
/** What it said while API and worker ran. */
let refused: Awaited<ReturnType<typeof recover>>;
const inFlight: Record<string, Asked> = {};
const delivered: Record<string, Asked> = {};

const submissions = () =>
  room.db.prisma.submission.findMany({
    select: { id: true, idempotencyKey: true, request: true, provider: true, callbackBase: true },
    orderBy: { id: 'asc' },
  });
const postsOf = async (provider: string, { prompt }: Asked) => {
  const { requests, jobs } = await room.sims[provider]!.journal(prompt);
  return { posts: requests.filter(({ method }) => method === 'POST').length, jobs: jobs.length };
};

/** With the settings of the worker. */
function darkroom(...args: string[]) {
  for (const [name, value] of Object.entries(room.env)) vi.stubEnv(name, value);
  const { DATABASE_URL: url = '', TEMPORAL_ADDRESS: temporalAddress, STORAGE_URL: storage = '' } = room.env;
  return commandsOn({
    databaseUrl: () => url,
    storageUrl: () => storage,
    ...(temporalAddress === undefined ? {} : { temporalAddress }),
  })(...args);
}
const recover = (...args: string[]) =>
  darkroom('recover', '--restored-at', restoredAt, '--reason', 'disk lost', '--actor', 'ann', ...args);

interface Recovered {
  readonly generations: readonly { generation: string; submission: string; was: string; now: string }[];
  readonly untouched: number;
  readonly runs_without_row: readonly { generation: string; jobs: readonly object[] }[];
}
const report = async (...args: string[]) => jsonOf(await recover('--json', ...args)) as Recovered;

/** The answers to these submits come, but can't be recorded: no history and no row names their jobs. */
async function holdBackAnswers(asked: readonly Asked[]): Promise<void> {
  const ids = asked.map(({ id }) => `'${id}'`).join(', ');
  await room.db.prisma.$executeRawUnsafe(
    'CREATE FUNCTION hold_back() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(600); RETURN NEW; END $$',
  );
  await room.db.prisma.$executeRawUnsafe(
    `CREATE TRIGGER hold_back BEFORE UPDATE ON submission FOR EACH ROW
     WHEN (NEW.provider_job_id IS NOT NULL AND NEW.generation_id IN (${ids})) EXECUTE FUNCTION hold_back()`,
  );
}

/** All are asked for; then the dump; then they are accepted, some delivered; then everything stops and the dump is put back. */
beforeAll(async () => {
  room = await startDarkroom({ catalogue, worker: false });
  for (const provider of DELIVERED) {
    const prompt = uniquePrompt(`delivered by ${provider}`);
    delivered[provider] = await ask(room, `kill-${provider}`, prompt, video(prompt));
  }
  for (const provider of IN_FLIGHT) {
    const prompt = uniquePrompt(`in flight at ${provider}`);
    await room.sims[provider]!.fault(prompt, { kind: 'no_callbacks' });
    inFlight[provider] = await ask(room, `kill-${provider}`, prompt, video(prompt));
  }
  await room.running.api.stop();
  restoredAt = new Date().toISOString();
  const dump = await copyDatabase(room.env['DATABASE_URL']!);
  await holdBackAnswers(Object.values(inFlight));

  const api = await room.startApi();
  const worker = await room.startWorker();
  for (const provider of DELIVERED) await untilEnd(room, delivered[provider]!.id, LIMIT_MS);
  const prompt = uniquePrompt('after the dump');
  gone = await ask(room, 'kill-infro', prompt, video(prompt));
  await untilEnd(room, gone.id, LIMIT_MS);
  for (const provider of IN_FLIGHT) {
    await eventually(
      async () => ((await postsOf(provider, inFlight[provider]!)).jobs > 0 ? true : undefined),
      LIMIT_MS,
    );
  }
  refused = await recover();
  await worker.stop(0, 'SIGKILL');
  await api.stop(0, 'SIGKILL');
  lost = await submissions();
  await dump.restore();
});
afterAll(() => room?.stop());

describe('PostgreSQL restored to a moment before the sends', () => {
  it('is refused while a worker and an API run, with the reason', () => {
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(/A worker has asked Temporal .*processes are connected/s);
  });

  it('a dry run tells what recover does, and changes nothing', async () => {
    const told = await report('--force', '--dry-run');
    expect(told.generations).toHaveLength(DELIVERED.length + IN_FLIGHT.length);
    expect(await submissions()).toEqual([]);
    expect(await room.db.prisma.strayJob.count()).toBe(0);
    expect(await room.db.prisma.operatorAction.count()).toBe(0);
  });

  it('recover: every one has the very submission that was sent; what histories know is attached', async () => {
    const { generations, untouched, runs_without_row } = await report('--force');
    const states = Object.fromEntries(generations.map(({ generation, now }) => [generation, now]));
    expect(states).toEqual({
      ...Object.fromEntries(IN_FLIGHT.map((provider) => [inFlight[provider]!.id, 'unknown'])),
      ...Object.fromEntries(DELIVERED.map((provider) => [delivered[provider]!.id, 'attached'])),
    });
    expect(untouched).toBe(0);
    expect(await submissions()).toEqual(lost.filter(({ id }) => id !== submissionId(gone.id, 1)));
    const [job] = (await room.sim.journal(gone.prompt)).jobs;
    const stray = { outcome: 'stray', provider: 'infro', jobId: job?.id };
    expect(runs_without_row).toEqual([{ generation: gone.id, jobs: [stray] }]);
    await expectInvariants(room);
  });

  it('recover again changes nothing more', async () => {
    const [before, actions] = [await submissions(), await room.db.prisma.operatorAction.count()];
    const { generations, untouched } = await report('--force');
    expect(generations.map(({ was, now }) => [was, now])).toEqual(
      IN_FLIGHT.map(() => ['unknown', 'unknown']),
    );
    expect(untouched).toBe(DELIVERED.length);
    expect(await submissions()).toEqual(before);
    expect(await room.db.prisma.operatorAction.count()).toBe(actions);
    expect(await room.db.prisma.strayJob.count()).toBe(1);
  });

  it('started again: each ends with one accepted job', async () => {
    await Promise.all([room.startApi(), room.startWorker()]);
    for (const provider of DELIVERED) {
      const asked = delivered[provider]!;
      await untilEnd(room, asked.id, LIMIT_MS);
      await expectPromise(room, asked, { provider, state: 'succeeded', jobs: 1 });
      // Its history had the job: the provider was never asked again.
      expect(await postsOf(provider, asked)).toEqual({ posts: 1, jobs: 1 });
    }
    // The same key again, a look-up by our id, its list: the job that was accepted before.
    for (const [provider, posts] of [
      ['infro', 2],
      ['kling', 1],
      ['replicate', 1],
    ] as const) {
      const asked = inFlight[provider]!;
      await untilEnd(room, asked.id, LIMIT_MS);
      await expectPromise(room, asked, { provider, state: 'succeeded', jobs: 1 });
      expect(await postsOf(provider, asked)).toEqual({ posts, jobs: 1 });
    }
    const asked = inFlight['crazyrouter']!;
    await until(room, asked.id, ({ stage }) => stage === 'submission_unknown', LIMIT_MS);
    expect((await get(room, asked.id)).credits.held).toBe(40);
    const ended = await darkroom(
      'generation',
      'resolve',
      asked.id,
      '--state',
      'failed',
      '--reason',
      'not there',
    );
    expect(ended.stderr).toBe('');
    await expectPromise(room, asked, { provider: 'crazyrouter', state: 'failed', jobs: 1 });
    expect(await postsOf('crazyrouter', asked)).toEqual({ posts: 1, jobs: 1 });
  });

  it('the report shows the job that was lost with its generation', async () => {
    const [job] = (await room.sim.journal(gone.prompt)).jobs;
    expect((await darkroom('report')).stdout).toContain(`infro ${job?.id}  found by history`);
  });
});
