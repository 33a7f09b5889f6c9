import { ActivityFailure, ApplicationFailure, CancellationScope } from '@temporalio/workflow';
import { STEP_BROKEN } from '../domain/step-failures.ts';
import type { AttachStep, Step } from '../domain/step.ts';
import { awaitOutcome } from './await-outcome.ts';
import { createCalls } from './calls.ts';
import { Inbox } from './inbox.ts';
import type { GenerateMediaInput, GenerateMediaResult } from './messages.ts';
import { wordsFor } from './story-words.ts';
import { Story } from './story.ts';

/** As for every repetition of our own steps. */
const LOST_MAX_MS = 5_000;
const PARKED_MS = 3_600_000;
const JOB_TAKEN = 'job_taken';

type Park = Extract<Step, { step: 'park' }>;
/** A step, or one that was set aside with the job that it was about to attach. */
type Todo = Exclude<Step, Park> | (Park & { readonly lost?: AttachStep | null });
type Open = Exclude<Todo, { step: 'done' }>;

/**
 * One generation: submit, wait, collect, settle. The rows in Postgres own every fact, this run owns time and order:
 * lost, repeated, reset, cancelled or terminated at any point, a new run of the same id reads its row and goes on.
 * It never fails: what it cannot do waits for an operator.
 */
export async function generateMedia(input: GenerateMediaInput): Promise<GenerateMediaResult> {
  const inbox = new Inbox();
  inbox.listen();
  const story = new Story(input.plan.provider);
  const { submit, look, collect, settle, park } = createCalls(input, inbox);

  /** Each activity reads the rows and answers with what has to be done next. */
  async function follow(step: Open): Promise<Todo> {
    switch (step.step) {
      case 'submit':
        story.queued(step.view, step.reason, step.inMs);
        await inbox.wait(step.inMs, wordsFor(step.reason));
        return submit(step);
      case 'attach':
        return look(step);
      case 'wait':
        story.waiting(step.view, step.inMs);
        return awaitOutcome(step, inbox, (summary) => {
          story.looking(step.view, { wokenBy: inbox.reason, cancelAsked: inbox.cancelAsked });
          return collect(step.deadlineInMs, summary);
        });
      case 'settle':
        story.settling(step.view, step.proposal);
        return settle(step);
      case 'park': {
        const { terminal } = await park(step.reason);
        if (terminal) return look(lostOf(step));
        story.parked(step.reason);
        await inbox.wait(PARKED_MS, 'for an operator, or an hour');
        story.resumed();
        return look(lostOf(step));
      }
      case 'resume':
        await inbox.wait(step.inMs, 'a step was lost: read the rows again');
        return look(step.lost);
    }
  }

  // Cancel in the Temporal UI must not cut a step: the inbox hears it, and the next step asks for a cancellation.
  return CancellationScope.nonCancellable(async () => {
    // A run that begins with a wake takes the place of a lost one: it looks where that one was.
    const first: Promise<Todo> = inbox.woken ? look(null) : submit();
    let step = await first.catch((error: unknown) => recover(error, null, 0));
    for (let losses = 1; step.step !== 'done';) {
      const current: Open = step;
      step = await follow(current).catch((error: unknown) => recover(error, current, losses++));
    }
    story.ended(step.state);
    return { state: step.state };
  });
}

/** A broken step needs a person; a lost one (its worker died, it timed out) is looked at again, from the rows. */
function recover(error: unknown, step: Open | null, losses: number): Todo {
  if (!(error instanceof ActivityFailure)) throw error;
  const { cause } = error;
  const broken = cause instanceof ApplicationFailure && cause.type === STEP_BROKEN;
  const lost = lostOf(step);
  // When even setting aside is broken, nothing is left but to try again.
  if (broken && step?.step !== 'park') {
    // A job of another submission is never ours: all other reasons to break can be mended.
    return { step: 'park', reason: cause.message, lost: cause.message === JOB_TAKEN ? null : lost };
  }
  const inMs = Math.min(LOST_MAX_MS, 250 * 2 ** Math.min(losses, 7));
  return { step: 'resume', inMs, lost };
}

/** The accepted job that no row has yet: kept until a look has attached it. */
function lostOf(step: Open | null): AttachStep | null {
  if (step?.step === 'attach') return step;
  return step?.step === 'resume' || step?.step === 'park' ? (step.lost ?? null) : null;
}
