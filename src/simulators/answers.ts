import { sendAnswer, type Answer, type Exchange } from './http.ts';
import { isEnded, type Job } from './jobs.ts';
import type { SimulatorContext } from './protocol.ts';
import { sendApiError, sendErrorIn200 } from './submit.ts';

const HANG_MS = 120_000;

/** A look at one job with its faults; `show` makes the answer, with another status string if one is given. */
export function answerObserve(
  exchange: Exchange,
  context: SimulatorContext,
  job: Job | undefined,
  show: (job: Job, status?: string) => Answer,
): void {
  context.journal.count('observes');
  if (job === undefined) return sendApiError(exchange, context, { kind: 'no_such_job' });
  job.journal.observes++;
  const kinds = ['observe_5xx', 'observe_404', 'observe_hang', 'observe_error_in_200'] as const;
  const fault = context.faults.take(job.prompt, ...kinds, 'unknown_status');
  switch (fault?.kind) {
    case undefined:
      return sendAnswer(exchange, show(job));
    case 'observe_5xx':
      return sendApiError(exchange, context, { kind: 'server_error', status: fault.status });
    case 'observe_404':
      return sendApiError(exchange, context, { kind: 'no_such_job' });
    case 'observe_hang':
      setTimeout(() => exchange.response.destroy(), HANG_MS).unref();
      return;
    case 'observe_error_in_200':
      return sendErrorIn200(exchange, context);
    case 'unknown_status':
      return sendAnswer(exchange, show(job, fault.status));
  }
}

/** A cancel with its faults; `end` acts on a job that has not ended, `show` makes the answer. */
export function answerCancel(
  exchange: Exchange,
  context: SimulatorContext,
  job: Job | undefined,
  { end, show }: { readonly end: (job: Job) => void; readonly show: (job: Job) => Answer },
): void {
  context.journal.count('cancels');
  if (job === undefined) return sendApiError(exchange, context, { kind: 'no_such_job' });
  job.journal.cancels++;
  const fault = context.faults.take(job.prompt, 'cancel_5xx', 'cancel_succeeded');
  if (fault?.kind === 'cancel_5xx') {
    return sendApiError(exchange, context, { kind: 'server_error', status: fault.status });
  }
  if (fault?.kind === 'cancel_succeeded') context.jobs.finish(job);
  if (!isEnded(job.state)) end(job);
  sendAnswer(exchange, show(job));
}

/** The page that begins after the job `after` (null = the first); null when there is no such job. */
export function pageOf(
  jobs: readonly Job[],
  after: string | null,
  limit: number,
): { readonly page: readonly Job[]; readonly next: string | null } | null {
  const start = after === null ? 0 : jobs.findIndex((job) => job.id === after) + 1;
  if (after !== null && start === 0) return null;
  const page = jobs.slice(start, start + limit);
  const hasMore = start + limit < jobs.length;
  return { page, next: hasMore ? (page.at(-1)?.id ?? null) : null };
}
