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
export const REQUEST_ID: Header = {
  description: 'Id of this request: yours if you sent X-Request-Id, else ours.',
  schema: { type: 'string' },
};
