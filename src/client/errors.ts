/** A problem document (RFC 9457) that the API answered. Branch on `code`. */
export class DarkroomError extends Error {
  override readonly name: string = 'DarkroomError';
  readonly status: number;
  /** Stable; `unknown` when the answer was no problem document (a proxy's page). */
  readonly code: string;
  /** What to do, safe to show to a developer. */
  readonly detail: string;
  /** For a question to the operator of the API. */
  readonly requestId: string | null;
  /** Wrong fields by JSON Pointer. */
  readonly errors: readonly { readonly path: string; readonly message: string }[];
  /** The document as it came, with further members such as `required`. */
  readonly problem: Readonly<Record<string, unknown>>;
  constructor(status: number, problem: Readonly<Record<string, unknown>>, requestId: string | null) {
    const code = typeof problem['code'] === 'string' ? problem['code'] : 'unknown';
    const detail =
      typeof problem['detail'] === 'string' ? problem['detail'] : 'No problem document came with it.';
    super(`${status} ${code}: ${detail}`);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.requestId = requestId;
    this.problem = problem;
    const { errors } = problem;
    this.errors = Array.isArray(errors) ? (errors as { path: string; message: string }[]) : [];
  }
}

/** No answer came, after all tries. A request that creates may have been taken: send it again with `idempotencyKey`. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** The key of the request; null for one that has none. */
  readonly idempotencyKey: string | null;
  constructor(message: string, idempotencyKey: string | null, cause: unknown) {
    super(message, { cause });
    this.idempotencyKey = idempotencyKey;
  }
}

/** The wait is over, the generation is not: it goes on and is paid for. */
export class WaitTimeoutError extends Error {
  override readonly name = 'WaitTimeoutError';
  readonly generationId: string;
  constructor(generationId: string) {
    super(
      `Generation ${generationId} has not ended yet. It goes on: wait for this id again, or hear of it by webhook. ` +
        'Do not submit it a second time, which would be rendered and charged again.',
    );
    this.generationId = generationId;
  }
}

/** A webhook that must not be believed. Answer it with 400. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}
