/**
 * Why an attempt at a receiver failed, as its tenant is told. Fixed words: none tells a private address from one that
 * nobody answers at, so that a URL can not be used to look around in our network.
 */
export const WEBHOOK_PROBLEMS = {
  unreachable: 'No connection could be made to the address.',
  tls_failed: 'The TLS certificate or handshake was not acceptable.',
  timeout: 'There was no answer in time.',
  connection_lost: 'The connection was lost before an answer.',
  bad_answer: 'The answer was not HTTP.',
  redirect: 'It was answered with a redirect, which is never followed: set the final URL.',
  gone: 'It was answered with 410: no more is sent.',
  http_status: 'It was answered with a status that is not 2xx.',
  secret_unavailable: 'It could not be signed: the operator has been alerted.',
  body_unavailable: 'Its body could not be made: the operator has been alerted.',
} as const;
export type WebhookProblem = keyof typeof WEBHOOK_PROBLEMS;
