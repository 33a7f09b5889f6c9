import type { oas31 } from 'zod-openapi';

type Header = oas31.HeaderObject;

/** Response headers as the API document shows them. */
export const LOCATION: Header = {
  description: 'Path of the generation.',
  schema: { type: 'string' },
};
export const RETRY_AFTER: Header = {
  description: 'Seconds to wait before the next call.',
  schema: { type: 'integer', minimum: 0 },
};
export const SHOULD_RETRY: Header = {
  description: '`false` where sending the same again within seconds is no use.',
  schema: { type: 'string', enum: ['false'] },
};
export const POLL_AFTER_MS: Header = {
  description: 'Milliseconds to wait before the next look, for clients that poll by themselves.',
  schema: { type: 'integer', minimum: 0 },
};
export const RATE_LIMIT: Header = {
  description:
    'What is left: `r` requests for the next `t` seconds, of the policy `tenant`. Only where there is such a limit.',
  schema: { type: 'string' },
  example: '"tenant";r=42;t=17',
};
export const RATE_LIMIT_POLICY: Header = {
  description: 'The limit: `q` requests in `w` seconds. Only where there is such a limit.',
  schema: { type: 'string' },
  example: '"tenant";q=100;w=60',
};
export const REPLAYED: Header = {
  description: '`true` when this is the stored answer of an earlier request with the same key.',
  schema: { type: 'string' },
};
export const ETAG: Header = {
  description: 'Send it back as If-None-Match to get 304 while nothing changed.',
  schema: { type: 'string' },
};
export const PREFERENCE_APPLIED: Header = {
  description: '`wait=N` when the answer was held back as asked.',
  schema: { type: 'string' },
};
export const WATCH_TOKEN: Header = {
  description:
    'Opens this generation, and nothing else, to a browser: `?watch_token=` on its GET and its events, until an hour after its ' +
    'deadline. Made anew for each answer; missing when that is past.',
  schema: { type: 'string' },
};
export const REQUEST_ID: Header = {
  description: 'Id of this request: yours if you sent X-Request-Id, else ours.',
  schema: { type: 'string' },
};
