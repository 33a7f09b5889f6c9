import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request as the proxy sees it before it goes on. */
export interface Passing {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly query: URLSearchParams;
  readonly bytes: number;
}

/** What happens to a request: undefined = it is passed on. */
export type Fate =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body?: string;
      readonly headers?: Record<string, string>;
    }
  /** It is carried out, and its answer is lost. */
  | { readonly kind: 'lose_answer' }
  /** The body arrives with one byte changed. */
  | { readonly kind: 'corrupt' }
  /** The answer's body stops after this many bytes, and the connection stays open. */
  | { readonly kind: 'stall'; readonly afterBytes: number };

export interface FaultProxy {
  readonly endpoint: string;
  /** What came, in order. */
  readonly seen: Passing[];
  /** Decides on every request from now on. */
  use(decide: (passing: Passing) => Fate | undefined | Promise<Fate | undefined>): void;
  close(): Promise<void>;
}

/** Stands before a server of HTTP and does to its requests what a network or another server may do. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const seen: Passing[] = [];
  let decide: (passing: Passing) => Fate | undefined | Promise<Fate | undefined> = () => undefined;

  const server = createServer((incoming, outgoing) => {
    void pass(incoming, outgoing).catch(() => outgoing.destroy());
  });
  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = incoming.url ?? '/';
    const passing = {
      method: incoming.method ?? '',
      url,
      query: new URL(url, target).searchParams,
      bytes: Number(incoming.headers['content-length'] ?? 0),
    };
    seen.push(passing);
    const fate = await decide(passing);
    if (fate?.kind === 'answer') {
      incoming.resume();
      outgoing.writeHead(fate.status, { 'content-type': 'application/xml', ...fate.headers });
      outgoing.end(fate.body ?? '');
      return;
    }
    const forwarded = request(new URL(url, target), { method: passing.method, headers: incoming.headers });
    forwarded.on('error', () => outgoing.destroy());
    outgoing.on('close', () => forwarded.destroy());
    let changed = fate?.kind !== 'corrupt';
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      if (!changed) chunk[0] = (chunk[0] ?? 0) ^ 1;
      changed = true;
      if (!forwarded.write(chunk)) await once(forwarded, 'drain');
    }
    forwarded.end();
    const [answer] = (await once(forwarded, 'response')) as [IncomingMessage];
    if (fate?.kind === 'lose_answer') {
      answer.resume();
      outgoing.destroy();
      return;
    }
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    let left = fate?.kind === 'stall' ? fate.afterBytes : Number.POSITIVE_INFINITY;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      if (!outgoing.write(chunk.subarray(0, left))) await once(outgoing, 'drain');
      left -= chunk.length;
      if (left <= 0) return;
    }
    outgoing.end();
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    seen,
    use(next) {
      decide = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((done) => {
        server.close(() => done());
      });
    },
  };
}

/** An error as S3 writes it. */
export function s3Error(status: number, code: string, more = ''): Fate {
  return {
    kind: 'answer',
    status,
    body: `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>no</Message>${more}</Error>`,
  };
}
