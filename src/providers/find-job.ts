import type { CallbackUrls } from '../domain/callback-urls.ts';
import type { CallOptions, Provider, ProviderHandle } from '../domain/provider.ts';

/** What of ours a provider can show. */
export interface Ours {
  readonly submissionId: string;
  readonly idempotencyKey: string;
}

const LIST_PAGES = 5;
const LIST_PAGE = 100;
const SEARCH_LIMIT_MS = 15_000;

/**
 * The job of a submission whose answer was lost: by a find with our external id, or by the provider's list, among the
 * newest, where that echoes our callback token or external id; never by resemblance. `none` is said only by a provider
 * that looks up external ids; all else proves nothing: `unavailable` = it could not be asked, `cannot_tell` = it was,
 * or has no way to tell.
 */
export async function findOurJob(
  provider: Provider,
  ours: Ours,
  callbacks: Pick<CallbackUrls, 'submissionOf'>,
  options: CallOptions,
): Promise<ProviderHandle | 'none' | 'cannot_tell' | 'unavailable'> {
  const found = await provider.find?.(ours.idempotencyKey, options);
  if (found?.kind === 'found') return found.handle;
  const listed = await findListed(provider, ours, callbacks, options);
  if (typeof listed !== 'string') return listed;
  const { idempotency } = provider.capabilities;
  if (found?.kind === 'not_found' && idempotency === 'lookup') return 'none';
  return found?.kind === 'unavailable' || listed === 'unavailable' ? 'unavailable' : 'cannot_tell';
}

async function findListed(
  provider: Provider,
  ours: Ours,
  callbacks: Pick<CallbackUrls, 'submissionOf'>,
  options: CallOptions,
): Promise<ProviderHandle | 'not_listed' | 'unavailable'> {
  if (provider.list === undefined || !provider.capabilities.list) return 'not_listed';
  const startedMs = performance.now();
  let after: string | null = null;
  for (let page = 0; page < LIST_PAGES && performance.now() - startedMs < SEARCH_LIMIT_MS; page += 1) {
    const listed = await provider.list({ after, limit: LIST_PAGE }, options);
    if (listed.kind !== 'page') return 'unavailable';
    const job = listed.jobs.find(
      ({ callbackUrl, externalId }) =>
        externalId === ours.idempotencyKey ||
        (callbackUrl !== null && callbacks.submissionOf(callbackUrl) === ours.submissionId),
    );
    if (job !== undefined) return job.handle;
    after = listed.nextCursor;
    if (after === null) break;
  }
  return 'not_listed';
}
