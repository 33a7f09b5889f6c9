import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { STEP_BROKEN } from '../../src/domain/step-failures.ts';
import type { RunView, Step, SubmitStep } from '../../src/domain/step.ts';
import { details, detailsAround } from './story-run.ts';

const HOUR_MS = 3_600_000;
const QUEUED: RunView = {
  state: 'queued',
  stage: 'queued',
  provider: 'infro',
  jobId: null,
  credits: 40,
  deadlineInMs: HOUR_MS,
  problem: null,
  submissionId: 'sub_1',
};
const WAITING: RunView = { ...QUEUED, state: 'running', stage: 'waiting', jobId: 'job_7', callbacks: true };
const again = (reason: string, change: Partial<RunView> = {}): SubmitStep => ({
  step: 'submit',
  inMs: HOUR_MS,
  reason,
  view: { ...QUEUED, problem: reason, ...change },
});
const wait = (change: Partial<RunView> = {}, inMs = HOUR_MS): Step => ({
  step: 'wait',
  inMs,
  deadlineInMs: change.deadlineInMs ?? HOUR_MS,
  view: { ...WAITING, ...change },
});
const UNKNOWN: Partial<RunView> = { state: 'running', stage: 'submission_unknown', problem: 'timeout' };

describe('not with a provider yet', () => {
  it('says what it waits for, since when, until when, what is held, and that nothing is to be done', async () => {
    const note = await details({ submit: () => again('capacity', { problem: 'http_429' }) }, 'no capacity');
    const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;
    expect(note).toMatch(
      new RegExp(
        [
          String.raw`^\*\*queued\*\*, stage queued: the provider has no capacity\.`,
          '',
          `- Since: ${time}`,
          `- Next look: ${time}, or as soon as something wakes it`,
          `- Deadline: ${time}`,
          '- Hold: 40 credits',
          '- Provider: `infro`, no job known, submission `sub_1`',
          '- Last problem: `http_429`',
          '',
          String.raw`\*\*To do:\*\* Nothing is to be done: it is submitted as soon as it can be\.`,
          '',
          'All of it: `npx darkroom generation show gen_X`$',
        ].join('\n'),
      ),
    );
    const [since, next] = [...note.matchAll(new RegExp(time, 'g'))].map(([text]) => Date.parse(text));
    expect(next! - since!).toBeGreaterThanOrEqual(HOUR_MS - 1_000);
  });

  it.each([
    ['circuit_open', 'fail in a row', 'npx darkroom providers'],
    ['daily_budget', 'budget of the day', 'npx darkroom budget show'],
    [
      'provider_paused',
      'has paused submits to the provider',
      'npx darkroom resume provider infro --reason "…"',
    ],
    ['model_paused', 'has paused the model', 'npx darkroom resume model infro-video --reason "…"'],
    ['tenant_paused', 'has paused the tenant', 'npx darkroom resume tenant ten_9 --reason "…"'],
    ['not_sent', 'could not be sent', null],
    ['database_unavailable', 'the database is away', null],
    ['another_attempt_is_sending', 'its lease must end first', null],
  ])('%s', async (reason, words, command) => {
    const note = await details({ submit: () => again(reason) }, words);
    expect(note.match(/^ {4}(.*)$/m)?.[1] ?? null).toBe(command);
    expect(note).toContain('**To do:**');
  });

  it('a key that is refused names its variable', async () => {
    const note = await details({ submit: () => again('not_sent', { problem: 'http_401' }) }, 'http_401');
    expect(note).toContain('PROVIDER_INFRO_API_KEY');
    expect(note).toContain('npx darkroom generation wake gen_X');
  });
});

describe('unknown whether the provider has it', () => {
  it.each([
    [{ idempotency: 'replay' }, 'gives no second job', 'npx darkroom providers'],
    [{ idempotency: 'lookup' }, 'looked up there by our id', 'npx darkroom providers'],
    [
      { idempotency: 'none', listed: true },
      "infro's list is searched",
      'npx darkroom submission attach sub_1 --job JOB --reason "…"',
    ],
    [
      { idempotency: 'none', listed: false },
      'Only a callback can name it',
      'npx darkroom submission attach sub_1 --job JOB --reason "…"',
    ],
  ] as const)('%o', async (offers, words, command) => {
    const submit = () => again('submission_unknown', { ...UNKNOWN, ...offers });
    const note = await details({ submit }, words);
    expect(note).toMatch(
      /^\*\*running\*\*, stage submission_unknown: unknown whether the provider has the job/,
    );
    expect(note).toContain(`    ${command}`);
  });
});

describe('with a provider', () => {
  it.each([
    [{}, 'waiting for the callback of infro'],
    [{ callbacks: false }, 'infro does not call us for this job'],
    [{ cancelRequested: true }, 'a cancellation was asked for: infro is told'],
    [{ deadlineInMs: -1 }, 'the deadline has passed: infro is asked to cancel'],
    [{ stage: 'storing', succeeded: true }, 'its outputs are being stored'],
  ] as const)('%o', async (change, words) => {
    const note = await details({ submit: () => wait(change) }, words);
    expect(note).toContain('job `job_7`');
    expect(note).toContain('**To do:** Nothing is to be done');
    expect(note.includes(', passed')).toBe('deadlineInMs' in change);
  });

  it('what can not be stored names the cause and the command', async () => {
    const change = { stage: 'storing', succeeded: true, problem: 'storage_full' } as const;
    const note = await details({ submit: () => wait(change) }, 'can not be stored yet');
    expect(note).toContain('STORAGE_URL');
    expect(note).toContain('    npx darkroom generation retry-storing gen_X --reason "…"');
  });

  it('a cancel that wakes it is told, and the deadline stays where it is', async () => {
    const submit = () => wait({ deadlineInMs: HOUR_MS });
    const plain = await detailsAround({ submit }, 'waiting for the callback', 'callback');
    expect(plain.second).not.toContain('a cancellation was asked for');
    expect(plain.second).toContain('The activity `collect` is at it');
    const asked = await detailsAround({ submit }, 'waiting for the callback', 'cancel');
    expect(asked.second).toContain('a cancellation was asked for');
    expect(asked.second).toContain('- Cancellation: asked for');
    const deadline = /^- Deadline: .*$/m;
    expect(asked.second.match(deadline)?.[0]).toBe(asked.first.match(deadline)?.[0]);
  });
});

describe('needs an operator', () => {
  const broken = (reason: string) => (): Step => {
    throw ApplicationFailure.create({ message: reason, type: STEP_BROKEN, nonRetryable: true });
  };

  it.each([
    ['step_failed', 'npx darkroom generation wake gen_X'],
    ['unknown_provider', 'npx darkroom generation wake gen_X'],
    ['unknown_credential', 'npx darkroom generation wake gen_X'],
    ['job_taken', 'npx darkroom submission attach sub_1 --job JOB --reason "…"'],
    ['provider_access_denied', 'npx darkroom generation observe gen_X --reason "…"'],
    ['unreadable_plan', 'npx darkroom generation resolve gen_X --state failed --reason "…" --dry-run'],
  ])('%s: why, that the hold stands, and the command', async (reason, command) => {
    let calls = 0;
    const submit = (): Step => {
      calls += 1;
      return calls === 1 ? { ...again('row_moved_on', { problem: null }), inMs: 0 } : broken(reason)();
    };
    const note = await details({ submit }, 'Needs an operator');
    expect(note).toContain(`**Needs an operator** (\`${reason}\`)`);
    expect(note).toContain('the hold is intact');
    expect(note).toContain('- Hold: 40 credits');
    expect(note.endsWith(`    ${command}`)).toBe(true);
  });

  it('also when its very first step was broken', async () => {
    const note = await details({ submit: broken('unknown_provider') }, 'Needs an operator');
    expect(note).toContain('PROVIDER_INFRO_API_KEY');
    expect(note.endsWith('    npx darkroom generation wake gen_X')).toBe(true);
  });
});

describe('ended', () => {
  it.each([
    ['succeeded', null, 'credits captured'],
    ['failed', 'content_rejected', '(`content_rejected`)'],
    ['cancelled', null, 'credits are released'],
    ['expired', 'deadline_exceeded', '(`deadline_exceeded`)'],
  ] as const)('%s', async (state, errorCode, words) => {
    const submit = (): Step => ({ step: 'settle', proposal: { state, errorCode }, view: WAITING });
    const note = await details({ submit }, `**${state}**`);
    expect(note).toContain(words);
    expect(note).toContain('job `job_7`');
    expect(note.endsWith('**To do:** nothing is left to do.')).toBe(true);
  });

  it('its row is gone', async () => {
    const note = await details({ submit: () => ({ step: 'done', state: 'gone' }) }, '**gone**');
    expect(note).toContain('OPERATIONS.md');
  });
});
