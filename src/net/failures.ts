import { errors } from 'undici';
import type { NetFailure } from './types.ts';

/** The guard refused every address of the host. */
export class BlockedAddressError extends Error {
  readonly code = 'BLOCKED_ADDRESS';
}

/** The name could not be resolved. */
export class LookupError extends Error {
  readonly code = 'LOOKUP_FAILED';
}

const UNREACHABLE = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'EADDRNOTAVAIL']);

const INVALID = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
]);

/** Why no connection stood, so that nothing of the request was sent. `secure` = the URL was https. */
export function connectFailure(error: unknown, secure: boolean): NetFailure {
  const code = codeOf(error);
  if (code === 'BLOCKED_ADDRESS') return 'blocked_address';
  if (code === 'LOOKUP_FAILED') return 'dns_failed';
  if (INVALID.has(code)) return 'invalid_request';
  if (code === 'ETIMEDOUT' || code === 'UND_ERR_CONNECT_TIMEOUT') return 'connect_timeout';
  if (UNREACHABLE.has(code) || code === 'UND_ERR_CLOSED' || code === 'UND_ERR_DESTROYED')
    return 'connect_refused';
  return secure ? 'tls_failed' : 'connect_refused';
}

/** Why an exchange that had begun did not end as an answer. */
export function exchangeFailure(error: unknown): NetFailure {
  const code = codeOf(error);
  const malformed = code.startsWith('HPE') || code === 'UND_ERR_HEADERS_OVERFLOW';
  return malformed || code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' ? 'bad_answer' : 'reset';
}

/** Why a transfer failed, where it does not matter whether anything was sent. */
export function transferFailure(error: unknown, secure: boolean): NetFailure {
  const code = codeOf(error);
  const begun = code.startsWith('HPE') || code.startsWith('UND_ERR_HEADERS') || code === 'UND_ERR_SOCKET';
  return begun || code === 'ECONNRESET' || code === 'EPIPE'
    ? exchangeFailure(error)
    : connectFailure(error, secure);
}

/**
 * Why a body broke off, by the error of its connection. null = there was none: the sender closed it in order, too early;
 * a length or chunk that is wrong is the same.
 */
export function bodyFailure(error: unknown): NetFailure | 'truncated' {
  const code = codeOf(error);
  return error === null || code.startsWith('HPE') ? 'truncated' : transferFailure(error, false);
}

function codeOf(error: unknown): string {
  // undici 7 leaves the code of its parser errors undefined.
  if (error instanceof errors.HTTPParserError) return 'HPE';
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
