import { randomFillSync } from 'node:crypto';
import type { Response } from 'express';

/** What is known of a request for its log line and its answer; nothing of its content. */
export interface RequestFacts {
  readonly requestId: string;
  readonly startedMs: number;
  /** The path template, never the path: callback paths hold a token. */
  route: string | null;
  tenantId: string | null;
  /** Public id of the API key. */
  keyId: string | null;
  /** Which generation it is about. */
  generation: string | null;
  /** Code of the problem that was answered. */
  problem: string | null;
  /** What was thrown, where it is a trouble of ours. */
  failure: unknown;
  /** Its line is written. */
  told: boolean;
}

const SAFE_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** Drawn for many ids at once: a draw costs more than its bytes. */
const ID_BYTES = 12;
const drawn = Buffer.alloc(ID_BYTES * 256);
let used = drawn.length;

function newRequestId(): string {
  if (used === drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  used += ID_BYTES;
  return `req_${drawn.toString('base64url', used - ID_BYTES, used)}`;
}

/** Takes the caller's X-Request-Id when it is short and harmless, else makes one. */
export function newRequestFacts(callersId: string | string[] | undefined): RequestFacts {
  const requestId =
    typeof callersId === 'string' && SAFE_REQUEST_ID.test(callersId) ? callersId : newRequestId();
  return {
    requestId,
    startedMs: performance.now(),
    route: null,
    tenantId: null,
    keyId: null,
    generation: null,
    problem: null,
    failure: null,
    told: false,
  };
}

const facts = new WeakMap<Response, RequestFacts>();

export function setRequestFacts(response: Response, value: RequestFacts): void {
  facts.set(response, value);
}

/** The facts of a response that went through the app's first middleware. */
export function requestFacts(response: Response): RequestFacts {
  const found = facts.get(response);
  if (found === undefined) throw new Error('the request did not pass the first middleware');
  return found;
}
