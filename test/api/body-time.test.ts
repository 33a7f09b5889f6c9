import { createServer, type RequestListener } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readBody } from '../../src/api/body.ts';
import { streamBody } from '../../src/api/body-stream.ts';
import { allowLongBody } from '../../src/api/body-time.ts';
import { Problem } from '../../src/api/problems.ts';
import { closeServer, createApiServer, listen } from '../../src/api/server.ts';
import { eventually } from '../simulators/control.ts';

/** Long enough that a test on a busy machine is not cut off before it has begun. */
const LIMIT_MS = 600;

/** A server whose bodies have this long, and what it does with them. */
async function start(listener: RequestListener): Promise<number> {
  const server = createApiServer(listener, { bodyTimeoutMs: LIMIT_MS });
  const port = await listen(server, 0, '127.0.0.1');
  onTestFinished(() => closeServer(server, 0));
  return port;
}

/** Sends these bytes, then more of them for as long as the connection lives. */
function drip(port: number, head: string) {
  let timer: NodeJS.Timeout | undefined;
  // Nothing is written before the head, however late the connection is there.
  const socket = connect(port, '127.0.0.1', () => {
    socket.write(head);
    timer = setInterval(() => socket.write('x'), 50);
  });
  const seen = { text: '', closed: false };
  socket.on('data', (chunk) => {
    seen.text += chunk.toString();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    clearInterval(timer);
    seen.closed = true;
  });
  return { seen, end: () => socket.destroy() };
}

const post = (path: string) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n`;
const closed = ({ seen }: ReturnType<typeof drip>) =>
  eventually(() => (seen.closed ? seen.text : undefined), 60_000);

describe('how long a body may take', () => {
  it('LIM-1 one that is read is cut off with 408', async () => {
    const port = await start((request) => {
      readBody(request, 1_000).catch(() => {});
    });
    const text = await closed(drip(port, post('/')));
    expect(text).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
    expect(text).toContain('"code":"malformed_http"');
  });

  it('LIM-1 one that nobody reads, of a request that was answered, is cut off as well', async () => {
    const port = await start((_request, response) => response.writeHead(401).end('no'));
    const text = await closed(drip(port, post('/')));
    expect(text).toMatch(/^HTTP\/1\.1 401 /);
    expect(text).not.toContain('408');
  });

  it('LIM-1 that of an upload is not; the server’s own limit holds for all', async () => {
    let bytes = 0;
    const port = await start((request) => {
      allowLongBody(request);
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
    });
    const cut = drip(port, post('/'));
    await eventually(() => (bytes > (2 * LIMIT_MS) / 50 ? true : undefined), 60_000);
    expect(cut.seen).toEqual({ text: '', closed: false });
    cut.end();
  });

  it('a long answer to a request without a body is not cut', async () => {
    const port = await start((_request, response) => {
      response.write('a');
      setTimeout(() => response.end('z'), 2 * LIMIT_MS);
    });
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    expect(await answer.text()).toBe('az');
  });
});

describe('streamBody', () => {
  /** What a streamed body came to. */
  function streaming(write: (chunk: Uint8Array) => Promise<void>, idleMs = 10_000) {
    const ends: string[] = [];
    const server = createServer((request, response) => {
      streamBody(request, { maxBytes: 100_000, idleMs }, write)
        .then(
          () => ends.push('whole'),
          (error: unknown) => ends.push(error instanceof Problem ? error.code : (error as Error).message),
        )
        .finally(() => response.end());
    });
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return new Promise<{ port: number; end: () => Promise<string> }>((resolve) => {
      server.listen(0, '127.0.0.1', () => {
        const { port } = server.address() as AddressInfo;
        resolve({ port, end: () => eventually(() => ends[0], 60_000) });
      });
    });
  }

  it('a sender that falls silent is told, after the idle time', async () => {
    const { port, end } = await streaming(async () => {}, 200);
    const socket = connect(port, '127.0.0.1', () => socket.write(`${post('/')}abc`));
    socket.on('error', () => {});
    expect(await end()).toBe('incomplete_body');
    socket.destroy();
  });

  it('reads no faster than it is written, and time of the writer is no silence', async () => {
    let writing = 0;
    let most = 0;
    const chunks: number[] = [];
    const { port, end } = await streaming(async (chunk) => {
      writing += 1;
      most = Math.max(most, writing);
      chunks.push(chunk.length);
      await new Promise((resolve) => {
        setTimeout(resolve, chunks.length === 1 ? 1_500 : 0);
      });
      writing -= 1;
    }, 1_000);
    await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: Buffer.alloc(100_000) });
    expect([await end(), most, chunks.reduce((sum, bytes) => sum + bytes, 0)]).toEqual(['whole', 1, 100_000]);
  });

  it('what the writer throws ends it', async () => {
    const { port, end } = await streaming(() => Promise.reject(new Error('disk full')));
    await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'abc' });
    expect(await end()).toBe('disk full');
  });
});
