import { isIP } from 'node:net';
import { isPublicAddress } from './addresses.ts';

/** Exactly one host and port that the operator permits although the guard would refuse it. */
export interface AllowEntry {
  /** As `URL.hostname` spells it: lower case, IPv6 in brackets. */
  readonly host: string;
  readonly port: number;
}

const MAX_ENTRIES = 64;
const ENTRY = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+):(\d{1,5})$/i;

/**
 * Reads NET_ALLOW: `host:port` entries, separated by commas; empty text gives an empty list.
 * Throws an error that names the bad entry: no wildcards, no ranges, no schemes, ports 1–65535, at most 64 entries.
 */
export function parseAllow(text: string): AllowEntry[] {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  if (entries.length > MAX_ENTRIES) {
    throw new Error(
      `NET_ALLOW has ${entries.length} entries, at most ${MAX_ENTRIES} are allowed: remove some.`,
    );
  }
  return entries.map(parseEntry);
}

/** True when this very host and port are on the list; `hostname` as `URL.hostname` spells it. */
export function isAllowed(allow: readonly AllowEntry[], hostname: string, port: number): boolean {
  return allow.some((entry) => entry.host === hostname && entry.port === port);
}

/** Throws, naming the entry, when the list opens a loopback, private or purely local host: such entries are for tests. */
export function assertProductionSafe(allow: readonly AllowEntry[]): void {
  const entry = allow.find(({ host }) => isLocalHost(host));
  if (!entry) return;
  throw new Error(
    `NET_ALLOW entry "${entry.host}:${entry.port}" is a loopback, private or local host, which production refuses: ` +
      'remove it, or use the public name of that service.',
  );
}

function parseEntry(entry: string): AllowEntry {
  const [, host, digits] = ENTRY.exec(entry) ?? [];
  if (host === undefined || digits === undefined) {
    throw new Error(
      `NET_ALLOW entry "${entry}" is not host:port: write for example 127.0.0.1:9001 or [::1]:9001.`,
    );
  }
  const port = Number(digits);
  if (port < 1 || port > 65_535) {
    throw new Error(`NET_ALLOW entry "${entry}" has a port outside 1–65535.`);
  }
  const url = `http://${host}/`;
  if (!URL.canParse(url)) throw new Error(`NET_ALLOW entry "${entry}" has a host that is not valid.`);
  return { host: new URL(url).hostname, port };
}

const LOCAL_NAME = /^[^.]+$|(^|\.)(localhost|local|internal|lan|home\.arpa)$/;

/** A literal that is not public, or a name that only a local resolver knows (one label, or a reserved suffix). */
function isLocalHost(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0) return !isPublicAddress(address);
  return LOCAL_NAME.test(host.replace(/\.$/, ''));
}
