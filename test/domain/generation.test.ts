import { describe, expect, it } from 'vitest';
import { GENERATION_ERRORS } from '../../src/domain/errors.ts';
import {
  CANCELLATION_OUTCOMES,
  DELIVERIES,
  isTerminal,
  STAGES,
  STATES,
  SUBMISSION_STATES,
  TERMINAL_STATES,
} from '../../src/domain/generation.ts';

describe('the words of the API', () => {
  it('are these, in this order', () => {
    expect(STATES).toEqual(['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired']);
    expect(TERMINAL_STATES).toEqual(['succeeded', 'failed', 'cancelled', 'expired']);
    expect(STAGES).toEqual([
      'queued',
      'submitting',
      'submission_unknown',
      'waiting',
      'storing',
      'settling',
      'needs_operator',
      'done',
    ]);
    expect(DELIVERIES).toEqual(['pending', 'stored', 'partial', 'failed', 'expired']);
    expect(CANCELLATION_OUTCOMES).toEqual([
      'requested',
      'confirmed',
      'accepted_may_bill',
      'too_late',
      'unsupported',
    ]);
    expect(SUBMISSION_STATES).toEqual(['prepared', 'sending', 'unknown', 'accepted', 'refused', 'abandoned']);
  });

  it('isTerminal holds for the last four states alone', () => {
    expect(STATES.filter(isTerminal)).toEqual([...TERMINAL_STATES]);
  });
});

describe('the errors of a generation', () => {
  it('are a closed list: which may be tried again', () => {
    const retryable = Object.entries(GENERATION_ERRORS).map(([code, error]) => [code, error.retryable]);
    expect(Object.fromEntries(retryable)).toEqual({
      invalid_input: false,
      content_rejected: false,
      provider_unavailable: true,
      provider_rejected: true,
      provider_failed: true,
      no_output: true,
      output_lost: true,
      output_invalid: true,
      deadline_exceeded: true,
      submission_unresolved: true,
    });
  });

  it('tell the next step in a whole sentence', () => {
    for (const { message } of Object.values(GENERATION_ERRORS)) {
      expect(message).toMatch(/^[A-Z].*\.$/);
      expect(message).toMatch(/create a new generation|Change the/i);
    }
  });
});
