import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { isPublicAddress } from './addresses.ts';
import { type Lookup, resolveAll, vettedLookup } from './agent.ts';
import { type AllowEntry, isAllowed } from './allow.ts';
import { BlockedAddressError, bodyFailure } from './failures.ts';
import { joinHeaders } from './headers.ts';
import type { NetFailure } from './types.ts';
import { portOf } from './url.ts';

/**
 * Read ahead while the sink writes, and handed on in one piece: with Node's own 16 KiB each piece of at most 64 KiB waits
 * for the write of the one before.
 */
const READ_AHEAD_BYTES = 1_048_576;

/** How connections are made. */
export interface Connecting {
  readonly allow: readonly AllowEntry[];
  readonly lookup?: Lookup | undefined;
  /** For DNS, TCP and TLS together. */
  readonly connectTimeoutMs: number;
}

/** An answer whose body is still to come. */
export interface StreamAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Read with back pressure; throws when it breaks off. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Why it broke off; to be asked after it threw. */
  readonly failure: () => NetFailure | 'truncated';
  /** Closes the connection without reading on. */
  readonly close: () => void;
}

/**
 * One GET over a connection of its own, to a public or allow-listed address only, as in createAgent. By Node's own client:
 * undici 7 ends the whole process when a source closes while its body is held back (nodejs/undici#5360; mended in 8,
 * which needs Node 22). Follows no redirect, reads no proxy variables. Throws the connection's error, or the signal's.
 */
export async function getStream(
  { allow, lookup = resolveAll, connectTimeoutMs }: Connecting,
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<StreamAnswer> {
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  const guarded = !isAllowed(allow, url.hostname, portOf(url));
  // Node never asks `lookup` about a literal address.
  if (guarded && isIP(hostname) !== 0 && !isPublicAddress(hostname)) {
    throw new BlockedAddressError('blocked address');
  }
  const isSecure = url.protocol === 'https:';
  return new Promise((resolve, reject) => {
    // Types of Node do not have it; its socket, plain or TLS, is made with it.
    const readAhead: { readonly highWaterMark: number } = { highWaterMark: READ_AHEAD_BYTES };
    const request = (isSecure ? requestHttps : requestHttp)({
      ...readAhead,
      method: 'GET',
      hostname,
      port: portOf(url),
      path: url.pathname + url.search,
      headers,
      lookup: vettedLookup(lookup, guarded),
      rejectUnauthorized: true,
      agent: false,
      signal,
    });
    const late = setTimeout(() => {
      request.destroy(Object.assign(new Error('connect timeout'), { code: 'ETIMEDOUT' }));
    }, connectTimeoutMs);
    request.once('socket', (socket) => {
      socket.once(isSecure ? 'secureConnect' : 'connect', () => clearTimeout(late));
    });
    let failure: unknown = null;
    // Stays for the body: what breaks a connection is told here, the body only says that it was cut.
    request.on('error', (error) => {
      failure ??= error;
      reject(error);
    });
    request.once('close', () => clearTimeout(late));
    request.once('response', (message) => resolve(answerOf(message, () => failure)));
    request.end();
  });
}

function answerOf(message: IncomingMessage, failure: () => unknown): StreamAnswer {
  // One that is closed early emits an error that nobody waits for.
  message.on('error', () => {});
  return {
    status: message.statusCode ?? 0,
    headers: joinHeaders(message.headers),
    body: message,
    failure: () => bodyFailure(failure()),
    close: () => message.destroy(),
  };
}
