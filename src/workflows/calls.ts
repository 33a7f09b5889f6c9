import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import type { Step, SubmitStep } from '../domain/step.ts';
import type { Inbox } from './inbox.ts';
import type { GenerateMediaInput } from './messages.ts';
import { collectOptions, lookOptions, settleOptions, submitOptions } from './policies.ts';

type Of<K extends Step['step']> = Extract<Step, { step: K }>;

/** The run's activities, each call with the reason that operators read in the UI. */
export interface Calls {
  /** Sends, on the provider's own queue. */
  readonly submit: (at?: Pick<SubmitStep, 'provider' | 'fromRoute'>) => Promise<Step>;
  /** Reads the rows without sending, on the run's own queue; first attaches a job that was accepted meanwhile. */
  readonly look: (attach: Of<'attach'> | null) => Promise<Step>;
  readonly collect: (deadlineInMs: number, summary: string) => Promise<Step>;
  readonly settle: (step: Of<'settle'>) => Promise<Step>;
  readonly park: (reason: string) => Promise<{ terminal: boolean }>;
}

export function createCalls({ generationId, plan }: GenerateMediaInput, inbox: Inbox): Calls {
  /** Carries Cancel into the row, and takes it back only when the step has ended well. */
  async function carrying(step: (cancelPressed: boolean, wokenBy: string) => Promise<Step>): Promise<Step> {
    const { reason, cancelPressed } = inbox.take();
    const next = await step(cancelPressed, reason === null ? '' : `, woken by ${reason}`);
    if (cancelPressed) inbox.cancelWritten();
    return next;
  }

  return {
    submit: ({ provider = plan.provider, fromRoute } = {}) =>
      carrying((cancelPressed, wokenBy) => {
        const summary = `to ${provider}${wokenBy}`;
        const { submit } = proxyActivities<Activities>({
          ...submitOptions(provider, plan.timings),
          summary,
        });
        const from = fromRoute === undefined ? {} : { fromRoute };
        return submit({ generationId, cancelPressed, attach: null, provider, ...from });
      }),
    look: (attach) =>
      carrying((cancelPressed, wokenBy) => {
        const { look } = proxyActivities<Activities>({ ...lookOptions, summary: `at the rows${wokenBy}` });
        const job = attach && { submissionId: attach.submissionId, jobId: attach.jobId };
        return look({ generationId, cancelPressed, attach: job });
      }),
    collect: (deadlineInMs, summary) =>
      carrying((cancelPressed) => {
        const { collect } = proxyActivities<Activities>({
          ...collectOptions(deadlineInMs, plan.timings),
          summary,
        });
        return collect({ generationId, cancelPressed });
      }),
    async settle({ proposal, view }) {
      const summary = `as ${proposal.state}${proposal.errorCode === null ? '' : `: ${proposal.errorCode}`}`;
      const { settle } = proxyActivities<Activities>({ ...settleOptions, summary });
      const settled = await settle({ generationId, proposal });
      if (settled.step === 'done') return settled;
      return { step: 'submit', inMs: 0, reason: 'row_moved_on', view };
    },
    park(reason) {
      const { park } = proxyActivities<Activities>({ ...settleOptions, summary: reason });
      return park({ generationId, reason });
    },
  };
}
