import { sign, verify, createPublicKey } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ed25519Keys } from '../../src/simulators/ed25519.ts';
import { FaultList } from '../../src/simulators/faults.ts';
import { outputUrls } from '../../src/simulators/files.ts';
import { Jobs, type JobRequest, type JobState } from '../../src/simulators/jobs.ts';
import { Journal } from '../../src/simulators/journal.ts';
import { eventually } from './control.ts';

const REQUEST: JobRequest = {
  id: 'job-1',
  model: 'm',
  prompt: 'p',
  media: 'image',
  outputCount: 3,
  durationSeconds: 1,
  webhookUrl: null,
  idempotencyKey: null,
  externalId: 'ours',
};

function bench(renderMs = 5) {
  const seen: JobState[] = [];
  const faults = new FaultList();
  const journal = new Journal();
  const jobs = new Jobs({ renderMs, outputTtlMs: 60_000 }, faults, journal, (job) => seen.push(job.state));
  return { seen, jobs, faults };
}

describe('jobs', () => {
  test('each new state is told once, queued first', async () => {
    const { seen, jobs } = bench(20);
    const job = jobs.accept(REQUEST, '{}');
    await eventually(() => (job.state === 'succeeded' ? true : undefined));
    expect(seen).toEqual(['queued', 'running', 'succeeded']);
    jobs.end(job, 'failed');
    expect(job.state).toBe('succeeded');
  });

  test('several outputs of one job, until they expire', async () => {
    const { jobs } = bench();
    const job = jobs.accept(REQUEST, '{}');
    await eventually(() => (job.state === 'succeeded' ? true : undefined));
    expect(outputUrls('http://h', job)).toEqual([0, 1, 2].map((n) => `http://h/files/job-1/${n}.png`));
    job.expiresAtMs = Date.now() - 1;
    expect(outputUrls('http://h', job)).toEqual([]);
  });

  test('a stopped render is never done, one that was only let go is', async () => {
    const { jobs } = bench(20);
    const stopped = jobs.accept(REQUEST, '{}');
    const left = jobs.accept({ ...REQUEST, id: 'job-2' }, '{}');
    jobs.stop(stopped);
    jobs.end(left, 'cancelled');
    await eventually(() => (left.journal.renders_done === 1 ? true : undefined));
    expect([stopped.state, left.state]).toEqual(['cancelled', 'cancelled']);
    expect(stopped.journal).toMatchObject({ renders_done: 0, stopped: true });
  });

  test('a deleted job is shown no more, and stays in the journal', () => {
    const { jobs } = bench(10_000);
    const job = jobs.accept(REQUEST, '{}');
    job.deleted = true;
    expect([jobs.get('job-1'), jobs.all()]).toEqual([undefined, []]);
    expect(jobs.accepted()).toEqual([job]);
    jobs.clear();
  });
});

test('a key pair follows from a text', () => {
  const message = Buffer.from('m');
  const { privateKey, jwk } = ed25519Keys('secret-1');
  const signature = sign(null, message, privateKey);
  const check = (key: typeof jwk) =>
    verify(null, message, createPublicKey({ key, format: 'jwk' }), signature);
  expect(check(ed25519Keys('secret-1').jwk)).toBe(true);
  expect(check(ed25519Keys('secret-2').jwk)).toBe(false);
});
