import { describe, expect, it } from 'vitest';
import { ACTION_EFFECTS, ACTION_REFUSALS, refusalText } from '../../src/domain/operator-actions.ts';
import type { ActionRefusal } from '../../src/domain/operator-actions.ts';

const facts = { state: 'failed', jobId: 'job-1', generationId: 'gen_02', inMs: 12_400 };

describe('refusalText', () => {
  it.each<[ActionRefusal, RegExp]>([
    [
      'already_terminal',
      /^It has ended as failed: there is no run to wake; to look at its job once more, observe it\.$/,
    ],
    ['sending', /try again in 13 s/],
    ['no_job', /not submitted yet.*wake it/],
    ['job_ended', /nothing more to see/],
    ['no_success', /has not been seen to succeed.*observe it/],
    ['nothing_to_store', /No output is lost or open/],
    ['no_submission', /no such submission.*darkroom generation show/],
    ['has_job', /has the job job-1 already.*observe it/],
    ['not_unknown', /state unknown.*wake it/],
    ['job_malformed', /1 to 255 visible ASCII characters/],
    ['job_named', /named the job job-1, and the provider has not answered/],
    ['job_taken', /The job job-1 belongs to gen_02/],
    ['cancel_requested', /without resubmit, and it ends as cancelled/],
    ['no_time', /Too little time is left/],
    ['nothing_to_redeliver', /look at its deliveries/],
    ['endpoints_disabled', /its tenant enables it, then redeliver again/],
  ])('%s: says why and what to do', (why, text) => {
    expect(refusalText('wake', { why, ...facts })).toMatch(text);
  });

  it('each refusal has words of its own', () => {
    const texts = ACTION_REFUSALS.map((why) => refusalText('observe', { why, ...facts }));
    expect(new Set(texts).size).toBe(ACTION_REFUSALS.length);
  });

  it('after the end each action says what is possible instead', () => {
    const ended = (action: Parameters<typeof refusalText>[0]) =>
      refusalText(action, { why: 'already_terminal', state: 'succeeded' });
    expect(ended('cancel')).toBe(
      'It has ended as succeeded: there is nothing to cancel; a charge is taken back by a refund.',
    );
    expect(ended('retry-storing')).toMatch(/one that has ended stays ended/);
    expect(ended('not-accepted')).toMatch(/its credits are settled/);
  });

  it('a send whose time is nearly over, or is not known, is tried again in a second at least', () => {
    expect(refusalText('observe', { why: 'sending', state: 'queued', inMs: -5 })).toMatch(/in 1 s/);
    expect(refusalText('observe', { why: 'sending', state: 'queued' })).toMatch(/in 1 s/);
  });
});

it('effects are told apart', () => {
  expect(new Set(ACTION_EFFECTS).size).toBe(ACTION_EFFECTS.length);
});
