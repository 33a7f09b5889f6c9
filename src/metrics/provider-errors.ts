/** How a call to a provider went wrong. */
export const PROVIDER_ERRORS = [
  'timeout',
  'connection',
  'rate_limited',
  'denied',
  'refused',
  'client_error',
  'server_error',
  'unreadable',
  'blocked',
  'defect',
  'other',
] as const;
export type ProviderError = (typeof PROVIDER_ERRORS)[number];

const BY_REASON: Readonly<Record<string, ProviderError>> = {
  timeout: 'timeout',
  connect_timeout: 'timeout',
  dns_failed: 'connection',
  connect_refused: 'connection',
  tls_failed: 'connection',
  reset: 'connection',
  answer_too_large: 'unreadable',
  bad_answer: 'unreadable',
  unreadable_answer: 'unreadable',
  blocked_address: 'blocked',
  invalid_url: 'blocked',
  invalid_request: 'blocked',
  http_401: 'denied',
  http_402: 'denied',
  http_403: 'denied',
  http_429: 'rate_limited',
};
/** An answer of one of these kinds brought nothing; its reason says why. */
const TROUBLES = new Set<unknown>(['unavailable', 'unknown', 'not_sent']);

/** The class of an adapter's answer; null when it brought what was asked for. Several answers count as their first trouble. */
export function providerErrorOf(answer: unknown): ProviderError | null {
  if (Array.isArray(answer)) {
    const all = answer.map(providerErrorOf);
    return all.find((one) => one !== null) ?? null;
  }
  if (typeof answer !== 'object' || answer === null) return null;
  const { kind, reason, denied, observation } = answer as Readonly<Record<string, unknown>>;
  if (kind === 'answered') return providerErrorOf(observation);
  if (kind === 'refused') return 'refused';
  if (kind === 'capacity') return 'rate_limited';
  if (!TROUBLES.has(kind)) return null;
  if (denied === true) return 'denied';
  const code = String(reason);
  const known = Object.hasOwn(BY_REASON, code) ? BY_REASON[code] : undefined;
  return known ?? byStatus(code);
}

function byStatus(code: string): ProviderError {
  if (/^http_4\d\d$/.test(code)) return 'client_error';
  return /^http_5\d\d$/.test(code) ? 'server_error' : 'other';
}
