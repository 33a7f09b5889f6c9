import { connect, createServer } from 'node:net';

/** Listens for a moment; the port that was given, or undefined when it is taken. */
function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(undefined);
      else reject(error);
    });
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      const given = typeof address === 'object' && address !== null ? address.port : undefined;
      server.close(() => resolve(given));
    });
  });
}

/** Below those that Linux, macOS and Windows hand out themselves, to outgoing connections above all. */
const FIRST = 15_000;
const SIZE = 17_000;
/** Where this process goes on looking; processes that start together begin far apart, and none asks twice for one port. */
let next = (process.pid * 1_009 + Date.now()) % SIZE;

/**
 * Free TCP ports of 127.0.0.1, all different. Another process can take one before it is used: whoever uses it must be
 * ready to ask again. That is rare: they are none of the ports that the system gives away by itself.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count && tries < count + 1_000; tries++) {
    next = (next + 1) % SIZE;
    const port = await tryPort(FIRST + next);
    if (port !== undefined) ports.add(port);
  }
  if (ports.size < count)
    throw new Error('No free TCP port on 127.0.0.1: close some programs and try again.');
  return [...ports];
}

/** The preferred port if it is free on 127.0.0.1, else another one. */
export async function freePort(preferred?: number): Promise<number> {
  const port = preferred === undefined ? undefined : await tryPort(preferred);
  return port ?? (await freePorts(1))[0]!;
}

/** True when something accepts connections on this port of 127.0.0.1. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: 1_000 });
    const end = (listening: boolean) => {
      socket.destroy();
      resolve(listening);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.once('timeout', () => end(false));
  });
}
