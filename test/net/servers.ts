import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { createCertificate } from './certificate.ts';
import { createOutboundHttp, type OutboundOptions } from '../../src/net/index.ts';
import type { OutboundHttp } from '../../src/net/types.ts';

export interface TestServer {
  readonly port: number;
  /** Connections accepted so far. */
  connections: number;
  /** Requests that startScripted has read; undici may open a further connection after an abort, but sends nothing on it. */
  requests: number;
}

async function listen(server: Server): Promise<TestServer> {
  const sockets = new Set<Socket>();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const running: TestServer = { port: (server.address() as AddressInfo).port, connections: 0, requests: 0 };
  server.on('connection', (socket) => {
    running.connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return running;
}

/** A raw TCP server on a free loopback port; ends with the test. */
export async function startTcp(onConnection: (socket: Socket) => void): Promise<TestServer> {
  return listen(createTcpServer(onConnection));
}

/** A real HTTP server on a free loopback port; ends with the test. */
export async function startHttp(listener: RequestListener): Promise<TestServer> {
  return listen(createHttpServer(listener));
}

/** A real HTTPS server with a self-signed certificate. */
export async function startHttps(listener: RequestListener): Promise<TestServer> {
  return listen(createHttpsServer(createCertificate('self.example'), listener));
}

/** A raw server that waits for one request head per connection, then writes these bytes and ends. */
export async function startScripted(
  answer: string,
  end: 'fin' | 'reset' | 'open' = 'fin',
): Promise<TestServer> {
  const server = await startTcp((socket) => {
    socket.once('data', () => {
      server.requests++;
      socket.write(answer, 'latin1', () => {
        if (end === 'fin') socket.end();
        if (end === 'reset') setTimeout(() => socket.resetAndDestroy(), 20);
      });
    });
  });
  return server;
}

/** A client that may call 127.0.0.1 (and the given names, which all resolve there) on these ports. */
export function createClient(
  ports: readonly number[],
  options: Partial<OutboundOptions> & { readonly names?: readonly string[] } = {},
): OutboundHttp {
  const hosts = ['127.0.0.1', ...(options.names ?? [])];
  const client = createOutboundHttp({
    allow: hosts.flatMap((host) => ports.map((port) => ({ host, port }))),
    lookup: async () => [{ address: '127.0.0.1', family: 4 }],
    connectTimeoutMs: 15_000,
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

/** A table written as text: its words, split at white space. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
