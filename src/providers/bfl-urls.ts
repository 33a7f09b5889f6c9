import type { ProviderHandle } from '../domain/provider.ts';

/** The configured API, and on which other hosts its tasks may be looked at. */
export interface BflRoot {
  readonly root: URL;
  /** Without a slash or `/v1` at its end. */
  readonly prefix: string;
  /** Exact host names, or `*.suffix`. */
  readonly pollingHosts: readonly string[];
}

const MODEL = /^[a-z0-9][a-z0-9.-]{0,63}(?:\/[a-z0-9][a-z0-9.-]{0,63})?$/;

/** @returns the path of a submit to this model. @throws when it is no name of an endpoint */
export function bflSubmitPath(providerModel: string): string {
  if (!MODEL.test(providerModel)) {
    throw new Error('bfl: providerModel must be the end of the endpoint after /v1/, e.g. flux-2-pro');
  }
  return `/v1/${providerModel}`;
}

function isHostIn(hosts: readonly string[], hostname: string): boolean {
  return hosts.some((host) => (host.startsWith('*.') ? hostname.endsWith(host.slice(1)) : hostname === host));
}

/**
 * The URL at which a returned polling URL may be looked at with our key, its `id` added where it is missing: the scheme
 * and port of the configured API, its host or an allowed one, and about this very task. Null for any other.
 */
function usablePollingUrl({ root, pollingHosts }: BflRoot, text: string, jobId: string): string | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const isPlace =
    url.protocol === root.protocol &&
    url.port === root.port &&
    (url.hostname === root.hostname || isHostIn(pollingHosts, url.hostname)) &&
    url.username === '' &&
    url.password === '';
  if (!isPlace || !url.pathname.endsWith('/get_result')) return null;
  const ids = url.searchParams.getAll('id');
  if (ids.length === 0) url.searchParams.set('id', jobId);
  else if (ids.length > 1 || ids[0] !== jobId) return null;
  url.hash = '';
  return url.href;
}

/** The handle of a task: with the polling URL that came with it, if we may look there. */
export function bflHandle(root: BflRoot, jobId: string, pollingUrl?: string | null): ProviderHandle {
  const usable =
    pollingUrl === null || pollingUrl === undefined ? null : usablePollingUrl(root, pollingUrl, jobId);
  return usable === null ? { jobId } : { jobId, pollingUrl: usable };
}

/**
 * Where a task is looked at: where we were told, if that is (still) allowed, else at the configured API. `isTold`: it is the
 * place that surely knows the task.
 */
export function bflPollingUrl(
  root: BflRoot,
  handle: ProviderHandle,
): { readonly url: string; readonly isTold: boolean } {
  const { jobId } = handle;
  const told = handle['pollingUrl'];
  const usable = typeof told === 'string' ? usablePollingUrl(root, told, jobId) : null;
  return usable === null
    ? { url: `${root.prefix}/v1/get_result?id=${encodeURIComponent(jobId)}`, isTold: false }
    : { url: usable, isTold: true };
}
