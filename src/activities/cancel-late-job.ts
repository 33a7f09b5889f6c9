import { recordLateCancel } from '../db/index.ts';
import type { Provider, ProviderCredential, ProviderHandle } from '../domain/provider.ts';
import type { ActivityDeps } from './deps.ts';

/** A job that nobody waits for, and how its provider is asked about it. */
export interface LateJob {
  readonly submissionId: string;
  readonly handle: ProviderHandle;
  readonly provider: Provider;
  /** The one that submitted it. */
  readonly credential: ProviderCredential;
  readonly timeoutMs: number;
}

/** An acceptance that came after the end: the provider is asked once to cancel, what it costs is booked. */
export async function cancelLateJob(deps: Pick<ActivityDeps, 'db' | 'log'>, job: LateJob): Promise<void> {
  const { submissionId, handle, provider, credential, timeoutMs } = job;
  const answer = await provider.cancel(handle, { credential, timeoutMs });
  if (await recordLateCancel(deps.db, submissionId, answer)) sayLateSuccess(deps, submissionId);
}

/** As the loop that looks after the end says it. */
export function sayLateSuccess({ log }: Pick<ActivityDeps, 'log'>, submission: string): void {
  log.warn({ submission }, 'late success: paid for, delivered to nobody');
}
