import { createServer } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { freePort, freePorts, isListening } from '../../src/dev/ports.ts';

test('a preferred port is given when it is free, and moves when it is taken', async () => {
  const preferred = await freePort();
  expect(await freePort(preferred)).toBe(preferred);
  const server = createServer().listen(preferred, '127.0.0.1');
  await once(server, 'listening');
  expect(await isListening(preferred)).toBe(true);
  const moved = await freePort(preferred);
  expect(moved).not.toBe(preferred);
  expect(moved).toBeGreaterThan(1_023);
  server.close();
  await once(server, 'close');
  expect(await isListening(preferred)).toBe(false);
});

test('ports asked for together are all different', async () => {
  expect(new Set(await freePorts(20)).size).toBe(20);
});

test('none of them is a port that the system gives to an outgoing connection', async () => {
  for (const port of await freePorts(20)) {
    expect(port).toBeGreaterThanOrEqual(15_000);
    expect(port).toBeLessThan(32_768);
  }
});
