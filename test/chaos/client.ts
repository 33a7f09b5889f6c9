import type { OddAnswer } from './types.ts';

const CALL_MS = 20_000;

/** What came back: null = nothing did, as when the API is down. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly bytes: Buffer;
  /** Of a problem document. */
  readonly code: string | null;
}

/** What goes along with a call. */
export interface Sent {
  readonly json?: object;
  readonly bytes?: Uint8Array<ArrayBuffer>;
  /** Idempotency key. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses and codes that are right for this call only, beside those for all. */
  readonly also?: Readonly<Record<number, RegExp>>;
}

/** The statuses that the API document names for a call that is right in itself. */
const DOCUMENTED: Readonly<Record<number, RegExp>> = {
  200: /./,
  201: /./,
  202: /./,
  400: /^invalid_request$/,
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
  readonly apiUrls: readonly string[];
  #key: string;
  readonly #revoked = new Set<string>();
  #turn = 0;

  constructor(apiUrls: readonly string[], key: string) {
    this.apiUrls = apiUrls;
    this.#key = key;
  }

  get key(): string {
    return this.#key;
  }

  /** From now on a 401 of the key in use is right. */
  keyIsRevoked(): void {
    this.#revoked.add(this.#key);
  }

  useKey(key: string): void {
    this.#key = key;
  }

  /** The next API in turn. */
  nextApi(): string {
    this.#turn += 1;
    return this.apiUrls[this.#turn % this.apiUrls.length] ?? '';
  }

  /** One call at the next API; null when the connection failed. */
  async call(method: string, path: string, sent: Sent = {}): Promise<Answer | null> {
    const key = this.#key;
    const body = sent.json === undefined ? sent.bytes : JSON.stringify(sent.json);
    try {
      const response = await fetch(`${this.nextApi()}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(sent.json === undefined ? {} : { 'content-type': 'application/json' }),
          ...(sent.key === undefined ? {} : { 'idempotency-key': sent.key }),
          ...sent.headers,
        },
        ...(body === undefined ? {} : { body }),
        signal: AbortSignal.timeout(CALL_MS),
      });
      const { status, headers } = response;
      const answer = readAnswer(status, headers, Buffer.from(await response.arrayBuffer()));
      this.#judge(`${method} ${path}`, answer, { ...sent.also, ...this.#refusals(key) });
      return answer;
    } catch {
      return null;
    }
  }

  /** An answer that is right in general and wrong here. */
  odd(request: string, { status, text }: Pick<Answer, 'status' | 'text'>): void {
    this.oddAnswers.push({ atMs: Date.now(), request, status, body: text.slice(0, 500) });
  }

  /** Only a revoked key is refused. */
  #refusals(key: string): Readonly<Record<number, RegExp>> {
    return this.#revoked.has(key) ? { 401: /^api_key_invalid$/ } : {};
  }

  #judge(request: string, answer: Answer, also: Readonly<Record<number, RegExp>>): void {
    const { status, headers, code } = answer;
    if (status >= 400) {
      const name = code ?? `status ${status}`;
      this.refused[name] = (this.refused[name] ?? 0) + 1;
    }
    const fits = (codes: RegExp | undefined) => codes?.test(code ?? 'none') === true;
    const saysWhen = !WITH_RETRY_AFTER.has(status) || headers.has('retry-after');
    const type = request.includes(' /v1/videos') ? 'application/json' : 'application/problem+json';
    const isProblem = status < 400 || (code !== null && headers.get('content-type')?.startsWith(type));
    if (!(fits(DOCUMENTED[status]) || fits(also[status])) || !saysWhen || !isProblem) {
      this.odd(request, answer);
    }
  }
}

/** By its status the same call may be answered otherwise later; 401 where a key was revoked under way. */
export function isToBeTriedAgain({ status, code }: Answer): boolean {
  return status === 401 || status === 429 || status === 503 || code === 'idempotency_key_in_progress';
}

function readAnswer(status: number, headers: Headers, bytes: Buffer): Answer {
  const text = bytes.toString('utf8');
  try {
    // Problem documents have it at the top, errors in OpenAI's shape one level below; both are text.
    const { code, error } = JSON.parse(text) as { code?: unknown; error?: { code?: unknown } | null };
    const found = status < 400 ? null : (code ?? error?.code);
    return { status, headers, text, bytes, code: typeof found === 'string' ? found : null };
  } catch {
    return { status, headers, text, bytes, code: null };
  }
}
