import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { webhookSecretBytes } from '../../src/domain/webhook-secret.ts';
import type { Received } from './types.ts';

/** What the tenant's server does to webhooks for a while. */
export const RECEIVER_MODES = ['slow', '500', '301', 'reset'] as const;
export type ReceiverMode = (typeof RECEIVER_MODES)[number];

/** A third failure would put an event off by 30 seconds, a fourth by minutes: longer than a run may rest. */
const FAILURES_EACH = 2;
const SLOW_MS = 2_000;
const GONE = 410;

/** An address that answers every webhook with 410. */
interface Gone {
  /** null = not known, or lost with the one answer that told it. */
  secret: string | null;
  answered: number;
}

interface Body {
  readonly type: string;
  readonly id: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** The tenant's webhook receiver: keeps all that arrives, whatever it answers. */
export class TenantReceiver {
  readonly received: Received[] = [];
  /** By path; those of the endpoint and of callback_url differ. */
  readonly secrets: Record<Received['receiver'], string> = { endpoint: '', callback_url: '' };
  mode: ReceiverMode | null = null;
  /** Webhooks that were not simply taken, so far. */
  disturbed = 0;
  readonly #server: Server;
  readonly #failures = new Map<string, number>();
  /** By path. */
  readonly #gone = new Map<string, Gone>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<TenantReceiver> {
    const server = createServer((request, response) => {
      receiver.#take(request, response).catch(() => response.destroy());
    });
    const receiver = new TenantReceiver(server);
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return receiver;
  }

  /** From now on this path answers 410 and counts. */
  openGone(path: string): Gone {
    const gone: Gone = { secret: null, answered: 0 };
    this.#gone.set(path, gone);
    return gone;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = await buffer(request);
    const gone = this.#gone.get(request.url ?? '');
    // An address of an endpoint too: what comes there is judged like what comes to the other one.
    const receiver = gone !== undefined || request.url === '/endpoint' ? 'endpoint' : 'callback_url';
    const header = (name: string) => String(request.headers[name] ?? '');
    const id = header('webhook-id');
    const { type, data = {} } = JSON.parse(bytes.toString('utf8')) as Body;
    const mode = gone === undefined ? this.#modeFor(`${receiver} ${id}`) : null;
    if (mode !== null) this.disturbed += 1;
    if (mode === 'slow') await sleep(SLOW_MS);
    const secret = gone === undefined ? this.secrets[receiver] : gone.secret;
    const prefix = `${id}.${header('webhook-timestamp')}.`;
    this.received.push({
      atMs: Date.now(),
      id,
      type,
      generationId: typeof data['id'] === 'string' ? data['id'] : '',
      attempt: Number(header('x-webhook-attempt')),
      receiver,
      verified: secret === null || isSigned(secret, prefix, bytes, header),
      data: withoutLinks(data),
      answer: gone !== undefined ? GONE : answerOf(mode),
    });
    if (gone !== undefined) {
      gone.answered += 1;
      response.writeHead(GONE).end();
      return;
    }
    if (mode === 'reset') response.socket?.resetAndDestroy();
    else if (mode === '301')
      response.writeHead(301, { location: `http://127.0.0.1:${this.port}/moved` }).end();
    else response.writeHead(mode === '500' ? 500 : 204).end();
  }

  #modeFor(event: string): ReceiverMode | null {
    if (this.mode === null) return null;
    const failed = this.#failures.get(event) ?? 0;
    if (failed >= FAILURES_EACH) return null;
    this.#failures.set(event, failed + 1);
    return this.mode;
  }
}

function answerOf(mode: ReceiverMode | null): number | 'reset' {
  return mode === null || mode === 'slow' ? 204 : mode === 'reset' ? 'reset' : Number(mode);
}

/** By Standard Webhooks, without its limit on the time: the clocks of workers are put wrong here on purpose. */
function isSigned(secret: string, prefix: string, body: Buffer, header: (name: string) => string): boolean {
  const key = webhookSecretBytes(secret);
  if (key === null) return false;
  const right = createHmac('sha256', key).update(prefix).update(body).digest();
  return header('webhook-signature')
    .split(' ')
    .filter((signature) => signature.startsWith('v1,'))
    .some((signature) => {
      const given = Buffer.from(signature.slice(3), 'base64');
      return given.length === right.length && timingSafeEqual(given, right);
    });
}

/** Links carry a signature that changes with the time; the rest of the data is the same at each attempt. */
function withoutLinks(data: Readonly<Record<string, unknown>>): unknown {
  return JSON.parse(
    JSON.stringify(data, (key, value: unknown) =>
      key === 'url' || key === 'url_expires_at' || key === 'poll_url' ? undefined : value,
    ),
  );
}
