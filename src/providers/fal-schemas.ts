import { z } from 'zod';

/** A request id (a UUID); checked because it goes into URLs. */
const requestId = z.string().regex(/^[A-Za-z0-9_-]{1,255}$/);
const url = z.string().max(2_048).nullish().catch(null);

/** The answer to a submit; older documents show it without URLs. */
export const falAccepted = z.object({
  request_id: requestId,
  status: z.string().catch('not_given'),
  status_url: url,
  response_url: url,
  cancel_url: url,
});

/** The state of a request. `COMPLETED` may carry `error` and `error_type`; the id is not always told. */
export const falStatus = z.object({
  status: z.string().min(1).max(255),
  request_id: z.string().nullish().catch(null),
  error: z.unknown().optional(),
  error_type: z.string().nullish().catch(null),
});
export type FalStatus = z.infer<typeof falStatus>;

/** Both error shapes: a model's `detail: [{type, loc, msg}]`, and `detail` as text with `error_type`. */
export const falError = z.object({
  detail: z.union([z.string(), z.array(z.object({ type: z.string().nullish().catch(null) })).min(1)]),
  error_type: z.string().nullish().catch(null),
});

/** What a cancel answers: OK, CANCELLATION_REQUESTED, ALREADY_COMPLETED, NOT_FOUND. */
export const falCancel = z.object({ status: z.string().min(1) });

/** A callback; `payload` is the result, and not read: a callback is a hint. */
export const falCallback = z.object({ request_id: requestId, status: z.string().min(1).max(64) });

/** An Ed25519 public key as a JSON Web Key (RFC 8037). */
export const falKey = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
});
