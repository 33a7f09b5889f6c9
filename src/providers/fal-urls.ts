import type { ProviderHandle } from '../domain/provider.ts';
import { apiRoot } from './api-root.ts';

export const FAL_QUEUE_URL = 'https://queue.fal.run';

/** The queue's configured origin and path prefix. */
export interface FalRoot {
  readonly origin: string;
  /** Without a slash at its end; '' for none. */
  readonly prefix: string;
  readonly hostname: string;
}

/** The URLs that fal returned for a request; those of them that we would call are kept in the handle. */
interface ReturnedUrls {
  readonly status_url?: string | null | undefined;
  readonly response_url?: string | null | undefined;
  readonly cancel_url?: string | null | undefined;
}

const ENDS = { status: '/status', response: '', cancel: '/cancel' } as const;
type FalCall = keyof typeof ENDS;

const SEGMENT = '[A-Za-z0-9][A-Za-z0-9._-]{0,99}';
const MODEL = new RegExp(`^${SEGMENT}(?:/${SEGMENT}){1,5}$`);
/** Apps of these owners are one segment longer (`workflows/user/name`). */
const NAMESPACES: ReadonlySet<string> = new Set(['workflows', 'comfy']);

/** @throws when the base URL is no http(s) URL */
export function falRoot(baseUrl: string): FalRoot {
  const { root, prefix } = apiRoot('fal', baseUrl, FAL_QUEUE_URL);
  return { origin: root.origin, prefix: prefix.slice(root.origin.length), hostname: root.hostname };
}

/** @returns the path of a submit to this model. @throws when it is no `owner/app[/subpath]` */
export function falSubmitPath(providerModel: string): string {
  if (!MODEL.test(providerModel)) {
    throw new Error('fal: providerModel must be owner/app or owner/app/subpath, e.g. fal-ai/flux/schnell');
  }
  return `/${providerModel}`;
}

/** `owner/app` of a submit's path: status, result and cancel know no subpath. @throws when it is no path of ours */
function appOf(path: string): string {
  const model = path.replace(/\?.*$/s, '').slice(1);
  if (!MODEL.test(model)) throw new Error('fal: the stored request has no path of a model');
  const segments = model.split('/');
  return segments.slice(0, NAMESPACES.has(segments[0] ?? '') ? 3 : 2).join('/');
}

/** Only on the configured origin, under its prefix, and about this very request. */
function isOwn({ origin, prefix }: FalRoot, url: string, jobId: string, end: string): boolean {
  if (!URL.canParse(url)) return false;
  const parsed = new URL(url);
  return (
    parsed.origin === origin &&
    parsed.username === '' &&
    parsed.password === '' &&
    parsed.pathname.startsWith(`${prefix}/`) &&
    parsed.pathname.endsWith(`/requests/${encodeURIComponent(jobId)}${end}`)
  );
}

/** The handle of a request: its app, and the URLs that fal returned for it as far as they are on its configured host. */
export function falHandle(
  root: FalRoot,
  jobId: string,
  path: string,
  urls: ReturnedUrls = {},
): ProviderHandle {
  const returned = Object.entries(ENDS).flatMap(([call, end]) => {
    const url = urls[`${call as FalCall}_url`];
    return typeof url === 'string' && isOwn(root, url, jobId, end) ? [[`${call}Url`, url] as const] : [];
  });
  return { jobId, app: appOf(path), ...Object.fromEntries(returned) };
}

/** The URL of a call: the returned one if it is (still) on the configured host, else by the documented form. */
export function falUrl(root: FalRoot, handle: ProviderHandle, call: FalCall): string {
  const returned = handle[`${call}Url`];
  if (typeof returned === 'string' && isOwn(root, returned, handle.jobId, ENDS[call])) return returned;
  const app = typeof handle['app'] === 'string' ? handle['app'] : '';
  if (!MODEL.test(app)) throw new Error('fal: the stored handle names no app');
  return `${root.origin}${root.prefix}/${app}/requests/${encodeURIComponent(handle.jobId)}${ENDS[call]}`;
}
