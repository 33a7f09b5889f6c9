import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import type { Step } from '../domain/step.ts';
import type { Inbox } from './inbox.ts';
import type { GenerateMediaInput } from './messages.ts';
import { collectOptions, settleOptions, submitOptions } from './policies.ts';

type Of<K extends Step['step']> = Extract<Step, { step: K }>;

/** The run's four activities, each call with the reason that operators read in the UI. */
export interface Calls {
  readonly submit: (attach?: Of<'attach'>) => Promise<Step>;
  readonly collect: (deadlineInMs: number, summary: string) => Promise<Step>;
  readonly settle: (step: Of<'settle'>) => Promise<Step>;
  readonly park: (reason: string) => Promise<{ terminal: boolean }>;
}

export function createCalls({ generationId, plan }: GenerateMediaInput, inbox: Inbox): Calls {
  return {
    submit(attach) {
      const { reason, cancelPressed } = inbox.take();
      const summary = `to ${plan.provider}${reason === null ? '' : `, woken by ${reason}`}`;
      const { submit } = proxyActivities<Activities>({
        ...submitOptions(plan.provider, plan.timings),
        summary,
      });
      const job = attach === undefined ? null : { submissionId: attach.submissionId, jobId: attach.jobId };
      return submit({ generationId, cancelPressed, attach: job });
    },
    collect(deadlineInMs, summary) {
      const { cancelPressed } = inbox.take();
      const { collect } = proxyActivities<Activities>({
        ...collectOptions(deadlineInMs, plan.timings),
        summary,
      });
      return collect({ generationId, cancelPressed });
    },
    async settle({ proposal, view }) {
      const summary = `as ${proposal.state}${proposal.errorCode === null ? '' : `: ${proposal.errorCode}`}`;
      const { settle } = proxyActivities<Activities>({ ...settleOptions, summary });
      const settled = await settle({ generationId, proposal });
      return settled.step === 'done'
        ? settled
        : { step: 'submit', inMs: 0, reason: 'the rows say otherwise', view };
    },
    park(reason) {
      const { park } = proxyActivities<Activities>({ ...settleOptions, summary: reason });
      return park({ generationId, reason });
    },
  };
}
