import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { createClient } from './servers.ts';

const TIMEOUT_MS = 2_000;
const STALL_MS = 4_000;

/** Answers each request a moment after it has told of it. */
const SERVER = `
  const server = require('node:http').createServer((request, response) => {
    process.send('asked');
    setTimeout(() => response.end('{"taken":true}'), 100);
  });
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
`;

it('an answer that came in time counts, even when we stood still ourselves until after the limit', async () => {
  const server = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  onTestFinished(() => void server.kill());
  const [port] = (await once(server, 'message')) as [number];
  server.once('message', () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS);
  });
  const answer = await createClient([port]).request({
    method: 'POST',
    url: `http://127.0.0.1:${port}/`,
    headers: {},
    body: '{"a":1}',
    timeoutMs: TIMEOUT_MS,
  });
  expect(answer).toMatchObject({ kind: 'answer', status: 200 });
});
