import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { createClient } from './servers.ts';

const TIMEOUT_MS = 6_000;
const STALL_MS = 8_000;

/** Answers each request a moment after it has told of it. */
const SERVER = `
  const server = require('node:http').createServer((request, response) => {
    process.send({ asked: request.url });
    setTimeout(() => response.end('{"taken":true}'), 100);
  });
  server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
`;

async function startServer() {
  const server = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  onTestFinished(() => void server.kill());
  const asked: string[] = [];
  server.on('message', (message: { asked?: string }) => {
    if (message.asked !== undefined) asked.push(message.asked);
  });
  const [{ port }] = (await once(server, 'message')) as [{ port: number }];
  const client = createClient([port]);
  const post = (path: string, timeoutMs: number) =>
    client.request({
      method: 'POST',
      url: `http://127.0.0.1:${port}${path}`,
      headers: {},
      body: '{"a":1}',
      timeoutMs,
    });
  return { server, asked, post };
}

function standStill(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS);
}

it('an answer that came in time counts, even when we stood still ourselves until after the limit', async () => {
  const { server, post } = await startServer();
  server.once('message', standStill);
  expect(await post('/', TIMEOUT_MS)).toMatchObject({ kind: 'answer', status: 200 });
});

it('a request whose time was over before it was connected never begins: nothing is sent', async () => {
  const { asked, post } = await startServer();
  const late = post('/late', TIMEOUT_MS);
  standStill();
  expect(await late).toEqual({ kind: 'not_sent', reason: 'connect_timeout' });
  // What was sent before it would have been heard of before it.
  expect(await post('/after', 60_000)).toMatchObject({ kind: 'answer' });
  expect(asked).toEqual(['/after']);
});
