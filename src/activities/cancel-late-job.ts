import { OBSERVED_AFTER_THE_END, observationFields, recordObservation } from '../db/index.ts';
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
export async function cancelLateJob(deps: Pick<ActivityDeps, 'db'>, job: LateJob): Promise<void> {
  const { submissionId, handle, provider, credential, timeoutMs } = job;
  const answer = await provider.cancel(handle, { credential, timeoutMs });
  // Nothing was asked and nothing seen: it is looked at when its time comes.
  if (answer.kind === 'unsupported') return;
  const observation =
    answer.kind === 'answered'
      ? answer.observation
      : ({
          kind: 'unavailable',
          reason: 'late_cancel_failed',
          denied: false,
          retryAfterMs: null,
        } as const);
  await recordObservation(deps.db, {
    ...OBSERVED_AFTER_THE_END,
    ...observationFields(observation),
    submissionId,
    by: 'submit',
    cancelSent: answer.kind === 'answered',
  });
}
