/** What is the same for every answer of one code; `also` = further statuses that it can come with. */
interface ProblemInfo {
  readonly status: number;
  readonly title: string;
  readonly also?: readonly number[];
}

/** Every problem that the API can answer: its status and constant title (RFC 9457). Codes are stable. */
export const PROBLEMS = {
  malformed_http: { status: 400, title: 'The HTTP request could not be read', also: [408, 413, 417, 431] },
  malformed_url: { status: 400, title: 'The URL could not be read' },
  invalid_request: { status: 400, title: 'The request has invalid fields' },
  invalid_query: { status: 400, title: 'The query has invalid parameters' },
  invalid_cursor: { status: 400, title: 'The cursor is not one of ours' },
  unknown_model: { status: 400, title: 'There is no such model' },
  invalid_range: { status: 416, title: 'The range can not be served' },
  idempotency_key_missing: { status: 400, title: 'The Idempotency-Key header is missing' },
  idempotency_key_invalid: { status: 400, title: 'The Idempotency-Key header is invalid' },
  malformed_form: { status: 400, title: 'The form could not be read' },
  empty_body: { status: 400, title: 'The body is empty' },
  incomplete_body: { status: 400, title: 'The body ended too early' },
  invalid_utf8: { status: 400, title: 'The body is not valid UTF-8' },
  byte_order_mark: { status: 400, title: 'The body begins with a byte order mark' },
  malformed_json: { status: 400, title: 'The body is not valid JSON' },
  trailing_data: { status: 400, title: 'There is data after the JSON value' },
  too_deep: { status: 400, title: 'The JSON is nested too deeply' },
  duplicate_key: { status: 400, title: 'The JSON names a key twice' },
  forbidden_key: { status: 400, title: 'The JSON has a key that is not allowed' },
  forbidden_character: { status: 400, title: 'The JSON has a NUL character' },
  lone_surrogate: { status: 400, title: 'The JSON has half a character' },
  unsafe_number: { status: 400, title: 'The JSON has a number that would lose digits' },
  malformed_callback: { status: 400, title: 'The callback could not be read' },
  api_key_missing: { status: 401, title: 'An API key is needed' },
  api_key_invalid: { status: 401, title: 'The API key is not valid' },
  watch_token_invalid: { status: 401, title: 'The watch token is not valid' },
  callback_unverified: { status: 401, title: 'The callback could not be verified' },
  insufficient_credits: { status: 402, title: 'There are not enough credits' },
  tenant_paused: { status: 403, title: 'The tenant is paused' },
  scope_missing: { status: 403, title: 'The API key lacks a scope' },
  link_invalid: { status: 403, title: 'The link is not valid' },
  link_expired: { status: 403, title: 'The link has expired' },
  not_found: { status: 404, title: 'There is no such route' },
  generation_not_found: { status: 404, title: 'There is no such generation' },
  video_not_found: { status: 404, title: 'There is no such video' },
  output_not_found: { status: 404, title: 'There is no such output' },
  file_not_found: { status: 404, title: 'There is no such file' },
  input_not_found: { status: 404, title: 'There is no such input' },
  webhook_endpoint_not_found: { status: 404, title: 'There is no such webhook endpoint' },
  webhook_delivery_not_found: { status: 404, title: 'There is no such webhook delivery' },
  account_not_found: { status: 404, title: 'There is no such account' },
  tenant_not_found: { status: 404, title: 'There is no such tenant' },
  api_key_not_found: { status: 404, title: 'There is no such API key' },
  provider_not_found: { status: 404, title: 'There is no such provider' },
  method_not_allowed: { status: 405, title: 'The method is not allowed here' },
  idempotency_key_in_progress: { status: 409, title: 'The same request is in progress' },
  unknown_account: { status: 409, title: 'There is no such account' },
  price_changed: { status: 409, title: 'The price is above max_credits' },
  already_terminal: { status: 409, title: 'The generation has already ended' },
  not_terminal: { status: 409, title: 'The generation has not ended' },
  own_api_key: { status: 409, title: 'The API key is the one of this call' },
  webhook_endpoint_disabled: { status: 409, title: 'The webhook endpoint is disabled' },
  webhook_endpoint_deleted: { status: 409, title: 'The webhook endpoint was deleted' },
  too_many_webhook_endpoints: { status: 409, title: 'There are too many webhook endpoints' },
  webhook_secret_missing: { status: 409, title: 'There is no secret to sign with' },
  balance_too_large: { status: 409, title: 'The balance would be too large' },
  not_captured: { status: 409, title: 'Nothing was captured' },
  refund_reason_used: { status: 409, title: 'The reason was used for another refund' },
  refund_too_large: { status: 409, title: 'The refund is more than is left' },
  resolution_not_possible: { status: 409, title: 'The generation can not be resolved like this' },
  action_not_possible: { status: 409, title: 'The generation does not allow this action' },
  precondition_failed: { status: 412, title: 'A condition of the request does not hold' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The media type is not supported' },
  unsupported_content_encoding: { status: 415, title: 'The content encoding is not supported' },
  deadline_unusable: { status: 422, title: 'The model takes no such deadline' },
  input_unusable: { status: 422, title: 'The input file can not be used' },
  idempotency_key_reuse: { status: 422, title: 'The key was used for another request' },
  rate_limited: { status: 429, title: 'There were too many requests' },
  too_many_generations: { status: 429, title: 'There are too many generations at once' },
  daily_credits_reached: { status: 429, title: 'The credits of the day are used up' },
  daily_cancels_reached: { status: 429, title: 'The cancels of the day are used up' },
  internal_error: { status: 500, title: 'Something went wrong on our side' },
  database_unavailable: { status: 503, title: 'The database is not reachable' },
  callback_keys_unavailable: { status: 503, title: 'The keys that prove a callback can not be read now' },
  callbacks_not_configured: { status: 503, title: 'Callbacks of this provider are not configured' },
  model_paused: { status: 503, title: 'The model is paused' },
  busy: { status: 503, title: 'Too much of this is under way' },
  storage_unavailable: { status: 503, title: 'The storage is not reachable' },
  scan_unavailable: { status: 503, title: 'Files can not be scanned now' },
  not_ready: { status: 503, title: 'The service is not ready' },
} as const satisfies Record<string, ProblemInfo>;

export type ProblemCode = keyof typeof PROBLEMS;

export interface ProblemOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
  /** Why, for the log only. */
  readonly cause?: unknown;
  /** Further members of the document, like `required` for credits. */
  readonly extensions?: Readonly<Record<string, number | string>>;
}

/** A problem on its way to the one place that answers it. `detail` is shown: safe words and what to do next. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly detail: string;
  readonly options: ProblemOptions;
  constructor(code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    super(code, { cause: options.cause });
    this.code = code;
    this.detail = detail;
    this.options = options;
  }
}

/** The JSON text of a problem document; `instance` is the request id. */
export function problemDocument(problem: Problem, requestId: string): string {
  const { status, title } = PROBLEMS[problem.code];
  const { errors, extensions } = problem.options;
  return JSON.stringify({
    type: `/docs#problem-${problem.code}`,
    title,
    status,
    code: problem.code,
    detail: problem.detail,
    instance: requestId,
    ...extensions,
    ...(errors === undefined ? {} : { errors }),
  });
}
