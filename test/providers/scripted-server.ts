import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseAllow, createOutboundHttp, type OutboundHttp } from '../../src/net/index.ts';

/** One answer of the scripted server. */
export interface ScriptedAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** A server that gives always the answer set last (or made by it per request), and keeps what it was asked. */
export class ScriptedServer {
  readonly url: string;
  readonly seen: SeenRequest[] = [];
  answer: ScriptedAnswer | ((request: SeenRequest) => ScriptedAnswer) = { status: 500 };
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<ScriptedServer> {
    let scripted: ScriptedServer | undefined;
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url = '', headers } = request;
        const seen = { method, url, headers, body: Buffer.concat(chunks).toString() };
        scripted?.seen.push(seen);
        const made = typeof scripted?.answer === 'function' ? scripted.answer(seen) : scripted?.answer;
        const { status, headers: answerHeaders = {}, body = '' } = made ?? { status: 500 };
        response.writeHead(status, { 'content-type': 'application/json', ...answerHeaders });
        response.end(body);
      });
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    scripted = new ScriptedServer(server);
    return scripted;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }
}

/** The real guarded HTTP, allowed to reach these local servers. */
export function httpTo(...urls: readonly string[]): OutboundHttp {
  return createOutboundHttp({ allow: parseAllow(urls.map((url) => new URL(url).host).join(',')) });
}
