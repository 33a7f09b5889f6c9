import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { isPublicAddress } from './addresses.ts';
import { type AllowEntry, isAllowed } from './allow.ts';
import { BlockedAddressError, LookupError } from './failures.ts';

/** All addresses of a name, in the order in which to try them. */
export type Lookup = (hostname: string) => Promise<readonly LookupAddress[]>;

type Addresses = readonly [LookupAddress, ...LookupAddress[]];

export interface AgentOptions {
  readonly allow: readonly AllowEntry[];
  readonly lookup?: Lookup | undefined;
  /** For DNS, TCP and TLS together. */
  readonly connectTimeoutMs: number;
  /** false: one connection per request, so that a request never meets a connection that is already dying. */
  readonly reuseConnections: boolean;
}

/**
 * An undici agent that connects to public addresses only. Names are resolved here, once per connection, and the
 * connection goes to an address of that very answer, so that a second DNS answer cannot move it; the name stays for SNI
 * and `Host`. It reads no proxy variables, follows no redirects, never pipelines.
 */
export function createAgent({
  allow,
  lookup = resolveAll,
  connectTimeoutMs,
  reuseConnections,
}: AgentOptions): Agent {
  const connectorFor = (guarded: boolean): buildConnector.connector =>
    buildConnector({
      timeout: connectTimeoutMs,
      allowH2: false,
      rejectUnauthorized: true,
      lookup: vettedLookup(lookup, guarded),
    });
  const guarded = connectorFor(true);
  const allowed = connectorFor(false);
  return new Agent({
    allowH2: false,
    pipelining: reuseConnections ? 1 : 0,
    // Our own timers limit every exchange as a whole.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect(options, callback) {
      const host = options.hostname.includes(':') ? `[${options.hostname}]` : options.hostname;
      const port = Number(options.port || (options.protocol === 'https:' ? 443 : 80));
      if (isAllowed(allow, host, port)) return allowed(options, callback);
      // Node never asks `lookup` about a literal address.
      if (isIP(options.hostname) !== 0 && !isPublicAddress(options.hostname)) {
        return callback(new BlockedAddressError('blocked address'), null);
      }
      return guarded(options, callback);
    },
  });
}

/** Adapts a resolver to Node's callback form. */
export function vettedLookup(lookup: Lookup, guarded: boolean): LookupFunction {
  const answer = async (...[hostname, options, callback]: Parameters<LookupFunction>): Promise<void> => {
    const found = await vet(lookup, hostname, guarded);
    if (found instanceof Error) callback(found, '', 0);
    else if (options.all) callback(null, [...found]);
    else callback(null, found[0].address, found[0].family);
  };
  return (...args) => void answer(...args);
}

/** The addresses that may be connected to; private ones are dropped, and none left is an error. */
async function vet(lookup: Lookup, hostname: string, guarded: boolean): Promise<Addresses | Error> {
  let found: Awaited<ReturnType<Lookup>>;
  try {
    found = await lookup(hostname);
  } catch {
    return new LookupError('lookup failed');
  }
  const [first, ...rest] = found.filter(({ address }) =>
    guarded ? isPublicAddress(address) : isIP(address) !== 0,
  );
  if (first) return [first, ...rest];
  return found.length === 0 ? new LookupError('no address') : new BlockedAddressError('blocked address');
}

/** The system's resolver. */
export async function resolveAll(hostname: string): ReturnType<Lookup> {
  return systemLookup(hostname, { all: true });
}
