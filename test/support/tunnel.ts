import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A way to a server over which a test has power. */
export interface Tunnel {
  /** The given address, reached through it. */
  readonly url: string;
  /** Nothing that was sent comes through any more, and no connection ends: as a broken network does. */
  swallow(): void;
  /** Cuts all connections and takes no more: as a server that went away. */
  close(): void;
}

/** `url` at this server's address instead; it listens then. */
export async function urlThrough(server: Server, url: string, port = 0): Promise<string> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(url);
  through.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return through.href;
}

/** @param port to listen on; 0 = any free one */
export async function openTunnel(target: string, port = 0): Promise<Tunnel> {
  const { hostname, port: targetPort } = new URL(target);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(targetPort), hostname);
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => into.destroy());
      from.on('close', () => {
        sockets.delete(from);
        into.destroy();
      });
      from.pipe(into);
    }
  });
  const url = await urlThrough(server, target, port);
  return {
    url,
    swallow() {
      for (const socket of sockets) socket.unpipe().resume();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
