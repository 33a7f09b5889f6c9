import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { createCertificate } from '../net/certificate.ts';
import { eventually } from '../simulators/control.ts';

/** One request as it arrived. */
export interface Received {
  /** By the monotonic clock, when its head had arrived. */
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

/** What a receiver answers: a status, or anything that a socket can do. */
export type ReceiverAnswer = number | ((response: ServerResponse, received: Received) => void);

/** Leaves the request without an answer until the receiver is closed. */
export const HANG: ReceiverAnswer = () => {};
/** Has taken the request, then cuts the connection. */
export const RESET: ReceiverAnswer = (response) => {
  response.socket?.resetAndDestroy();
};

/** A tenant's webhook receiver: a real server on a free loopback port that keeps what arrives. */
export class Receiver {
  readonly received: Received[] = [];
  /** Asked for each request, with how many of this path have arrived before it. */
  answer: (received: Received, before: number) => ReceiverAnswer = () => 204;
  readonly #close: () => Promise<void>;
  readonly url: string;

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  /** @param options.tls with a certificate that nobody vouches for */
  static async start(options: { readonly tls?: boolean } = {}): Promise<Receiver> {
    const sockets = new Set<Socket>();
    let receiver: Receiver | undefined;
    const listener: RequestListener = (request, response) => {
      const atMs = performance.now();
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('error', () => {});
      request.on('end', () => {
        const { method = '', url = '', headers, rawHeaders } = request;
        const body = Buffer.concat(chunks).toString('utf8');
        receiver!.#take({ atMs, method, path: url, headers, rawHeaders, body }, response);
      });
    };
    const server = options.tls
      ? createHttpsServer(createCertificate('receiver.example'), listener)
      : createServer(listener);
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const { port } = server.address() as AddressInfo;
    const close = async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    };
    receiver = new Receiver(`${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`, close);
    return receiver;
  }

  #take(received: Received, response: ServerResponse): void {
    const before = this.received.filter(({ path }) => path === received.path).length;
    this.received.push(received);
    const answer = this.answer(received, before);
    if (typeof answer === 'number') response.writeHead(answer).end();
    else answer(response, received);
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** All that arrived at a path so far. */
  at(path: string): readonly Received[] {
    return this.received.filter((received) => received.path === path);
  }

  /** Waits until so many have arrived at a path; an Error after `limitMs`. */
  until(path: string, count: number, limitMs = 90_000): Promise<readonly Received[]> {
    return eventually(() => (this.at(path).length >= count ? this.at(path) : undefined), limitMs);
  }

  close(): Promise<void> {
    return this.#close();
  }
}

/** The event in a request, after the official library has verified it; throws when it does not. */
export function verifiedEvent(received: Received, secret: string): WebhookJson {
  const headers = received.headers as Record<string, string>;
  return new Webhook(secret).verify(received.body, headers) as WebhookJson;
}

/** The body of a webhook as a receiver reads it. */
export interface WebhookJson {
  readonly type: string;
  readonly timestamp: string;
  readonly version: number;
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
}
