import { Agent, createServer, request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_EVERY_MS = 100;
/** Once the last look is older, a kept connection may be one that its backend has closed meanwhile. */
const FRESH_MS = 1_000;

/** A load balancer that honours readiness, and tries the next backend only when a connection was refused. */
export interface Balancer {
  readonly url: string;
  /** `METHOD path status` of every answer that was not 2xx, and every failure. */
  readonly bad: readonly string[];
  /** Statuses of all answers by method and first part of the path, like `POST callbacks`. */
  readonly answers: ReadonlyMap<string, number>;
  /** From now on requests may go there, once it is ready. */
  add(port: number): void;
  close(): Promise<void>;
}

export async function startBalancer(): Promise<Balancer> {
  const backends = new Map<number, boolean>();
  const agent = new Agent({ keepAlive: true });
  const bad: string[] = [];
  const answers = new Map<string, number>();
  const stop = new AbortController();
  let turn = 0;
  let lookedAtMs = 0;

  async function look(): Promise<void> {
    while (!stop.signal.aborted) {
      await Promise.all(
        [...backends.keys()].map(async (port) => {
          const url = `http://127.0.0.1:${port}/readyz`;
          // Slow is not gone: only an answer or a refused connection says something.
          const ready = await fetch(url, { signal: AbortSignal.timeout(10_000) }).then(
            async (answer) => (await answer.arrayBuffer(), answer.ok),
            (error: Error) => (error.name === 'TimeoutError' ? (backends.get(port) ?? false) : false),
          );
          backends.set(port, ready);
        }),
      );
      lookedAtMs = performance.now();
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** The ready ones, each in its turn; while none is, all of them, as balancers do that fail open. */
  function order(): number[] {
    turn += 1;
    const healthy = [...backends].filter(([, isReady]) => isReady).map(([port]) => port);
    const ready = healthy.length === 0 ? [...backends.keys()] : healthy;
    const cut = ready.length === 0 ? 0 : turn % ready.length;
    return [...ready.slice(cut), ...ready.slice(0, cut)];
  }

  function forward(incoming: IncomingMessage, body: Buffer, port: number): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const outgoing = request(
        {
          host: '127.0.0.1',
          port,
          agent: performance.now() - lookedAtMs < FRESH_MS ? agent : false,
          method: incoming.method,
          path: incoming.url,
          headers: incoming.headers,
        },
        resolve,
      );
      outgoing.once('error', reject);
      outgoing.end(body);
    });
  }

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    const what = `${incoming.method} ${incoming.url?.split('/')[1]}`;
    for (const port of order()) {
      try {
        const answer = await forward(incoming, body, port);
        const bytes = await buffer(answer);
        const status = answer.statusCode ?? 0;
        answers.set(what, (answers.get(what) ?? 0) + 1);
        if (status >= 300) bad.push(`${what} ${status} ${bytes.toString('utf8', 0, 300)}`);
        const { connection: _, 'transfer-encoding': __, ...headers } = answer.headers;
        outgoing.writeHead(status, { ...headers, 'content-length': bytes.length }).end(bytes);
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') {
          bad.push(`${what} ${(error as NodeJS.ErrnoException).code}`);
          break;
        }
      }
    }
    bad.push(`${what} no backend`);
    outgoing.writeHead(502).end();
  }

  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const looking = look();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bad,
    answers,
    add: (port) => void backends.set(port, false),
    async close() {
      stop.abort();
      await looking;
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
