import type { OddAnswer } from './types.ts';

const CALL_MS = 20_000;

/** What came back: null = nothing did, as when the API is down. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Of a problem document. */
  readonly code: string | null;
}

/** The statuses that the API document names for a call that is right in itself. */
const DOCUMENTED: Readonly<Record<number, RegExp>> = {
  200: /./,
  202: /./,
  400: /^invalid_request$/,
  401: /^api_key_(missing|invalid)$/,
  402: /^insufficient_credits$/,
  409: /^(idempotency_key_in_progress|already_terminal)$/,
  413: /./,
  429: /./,
  503: /./,
};
const WITH_RETRY_AFTER = new Set([429, 503]);

/** HTTP as a careful tenant does it, through both APIs in turn; what no client should see is kept. */
export class Client {
  readonly oddAnswers: OddAnswer[] = [];
  /** Problem codes and how often each came. */
  readonly refused: Record<string, number> = {};
  /** Changed when the one before is revoked. */
  key: string;
  readonly #apiUrls: readonly string[];
  #turn = 0;

  constructor(apiUrls: readonly string[], key: string) {
    this.#apiUrls = apiUrls;
    this.key = key;
  }

  /** One call at the next API; null when the connection failed. */
  async call(method: string, path: string, body?: { json: object; key: string }): Promise<Answer | null> {
    this.#turn += 1;
    const url = `${this.#apiUrls[this.#turn % this.#apiUrls.length]}${path}`;
    const more = body && { 'content-type': 'application/json', 'idempotency-key': body.key };
    try {
      const response = await fetch(url, {
        method,
        headers: { authorization: `Bearer ${this.key}`, ...more },
        ...(body === undefined ? {} : { body: JSON.stringify(body.json) }),
        signal: AbortSignal.timeout(CALL_MS),
      });
      const { status, headers } = response;
      const answer = readAnswer(status, headers, await response.text());
      this.#judge(`${method} ${path}`, answer);
      return answer;
    } catch {
      return null;
    }
  }

  /** An answer that is right in general and wrong here. */
  odd(request: string, { status, text }: Answer): void {
    this.oddAnswers.push({ atMs: Date.now(), request, status, body: text.slice(0, 500) });
  }

  #judge(request: string, answer: Answer): void {
    const { status, headers, code } = answer;
    if (status >= 400) {
      const name = code ?? `status ${status}`;
      this.refused[name] = (this.refused[name] ?? 0) + 1;
    }
    const isDocumented = DOCUMENTED[status]?.test(code ?? 'none') === true;
    const saysWhen = !WITH_RETRY_AFTER.has(status) || headers.has('retry-after');
    const isProblem =
      status < 400 || (code !== null && headers.get('content-type') === 'application/problem+json');
    if (!isDocumented || !saysWhen || !isProblem) this.odd(request, answer);
  }
}

function readAnswer(status: number, headers: Headers, text: string): Answer {
  try {
    const { code = null } = JSON.parse(text) as { code?: string };
    return { status, headers, text, code };
  } catch {
    return { status, headers, text, code: null };
  }
}
