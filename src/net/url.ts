import { isIP } from 'node:net';
import { isPublicAddress } from './addresses.ts';
import { type AllowEntry, isAllowed } from './allow.ts';

/** Why a URL may not be called; fixed codes, safe to show. */
export type UrlProblem =
  | 'malformed'
  | 'too_long'
  | 'scheme'
  | 'credentials'
  | 'fragment'
  | 'port'
  | 'address';

export type CheckedUrl =
  | { readonly ok: true; readonly url: URL }
  | { readonly ok: false; readonly problem: UrlProblem };

const MAX_LENGTH = 8192;
// WHATWG silently drops tabs and newlines and turns `\` into `/`: such text means different hosts to different readers.
const AMBIGUOUS = /[\p{Cc}\\]/u;

/**
 * Parses and checks the text of an absolute URL that came from outside. What passes may still resolve to a private
 * address: the agent looks at that when it connects.
 */
export function checkUrl(text: string, allow: readonly AllowEntry[]): CheckedUrl {
  if (text.length > MAX_LENGTH) return { ok: false, problem: 'too_long' };
  if (AMBIGUOUS.test(text) || !URL.canParse(text)) return { ok: false, problem: 'malformed' };
  const url = new URL(text);
  const problem = findUrlProblem(url, allow);
  return problem === null ? { ok: true, url } : { ok: false, problem };
}

/**
 * The rules for a parsed URL: https on port 443, or any scheme and port of an allow-listed host:port; no credentials,
 * no fragment; a literal address must be public. Returns null when all hold.
 */
export function findUrlProblem(url: URL, allow: readonly AllowEntry[]): UrlProblem | null {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'scheme';
  if (url.username !== '' || url.password !== '') return 'credentials';
  if (url.hash !== '') return 'fragment';
  if (isAllowed(allow, url.hostname, portOf(url))) return null;
  if (url.protocol !== 'https:') return 'scheme';
  if (portOf(url) !== 443) return 'port';
  return isLocalHost(url.hostname) ? 'address' : null;
}

/** The port that will be connected to, the scheme's own one included. */
export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

/** `URL.hostname` has already turned `2130706433`, `0x7f.1` and the like into dotted form (reliability.md §0.4). */
function isLocalHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(host) !== 0) return !isPublicAddress(host);
  return host === '' || host === 'localhost' || host.endsWith('.localhost');
}
