/** Reads one body that comes byte by byte, and prints its length; run with a small heap by body-pieces.test.ts. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { readBody } from '../../src/api/body.ts';

const BYTES = 1024 * 1024;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request, BYTES);
  process.stdout.write(`${body.length} ${body.every((byte) => byte === 0x78)}`);
  response.end();
  server.close();
  server.closeAllConnections();
}

const server = createServer((request, response) => void answer(request, response));
server.listen(0, '127.0.0.1', () => {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1', () => {
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    socket.write('1\r\nx\r\n'.repeat(BYTES));
    socket.write('0\r\n\r\n');
  });
  socket.on('error', () => {});
});
