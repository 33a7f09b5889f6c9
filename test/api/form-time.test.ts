/** LIM-1: how long a form may take. Its file has time as long as it comes and has a place; nothing else has more than any body. */
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createInputSlots, createSlots } from '../../src/services/slots.ts';
import { eventually } from '../simulators/control.ts';
import { startApi } from './api.ts';
import { PICTURE, useFiles } from './inputs.ts';
import { useApi } from './suite.ts';
import { newTenant, type TestTenant } from './tenants.ts';
import { formOf } from './videos.ts';

/** Long enough that a file's first bytes are read before; a form that they are late in is cut as well. */
const LIMIT_MS = 3_000;
const FULL = { ...createInputSlots(), uploads: createSlots({ total: 0, perOwner: 0 }) };

const room = useFiles();
const suite = useApi(room.parts);

/** A form up to the end of its file's bytes, and its Content-Type. */
function openForm(): { readonly type: string; readonly bytes: Buffer } {
  const { type, bytes } = formOf([['input_reference', PICTURE]]);
  return { type, bytes: bytes.subarray(0, bytes.lastIndexOf('\r\n--')) };
}

/** Sends a form that begins so, then more bytes of it until it is cut. @returns what it was told */
async function cutOff(url: string, tenant: TestTenant, type: string, body: Uint8Array): Promise<string> {
  const head =
    `POST /v1/videos HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tenant.key}\r\n` +
    `Content-Type: ${type}\r\nContent-Length: 1000000\r\n\r\n`;
  let timer: NodeJS.Timeout | undefined;
  const socket = connect(Number(new URL(url).port), '127.0.0.1', () => {
    socket.write(head);
    socket.write(body);
    timer = setInterval(() => socket.write('x'), 50);
  });
  const told: string[] = [];
  const over = { closed: false };
  socket.on('data', (chunk) => told.push(chunk.toString()));
  socket.on('error', () => {});
  socket.on('close', () => {
    over.closed = true;
  });
  onTestFinished(() => {
    clearInterval(timer);
    socket.destroy();
  });
  await eventually(() => (over.closed ? true : undefined), 60_000);
  return told.join('');
}

describe('LIM-1 a slow form is cut off', () => {
  it.each([
    ['whose file has no place', FULL, ''],
    [
      'whose file is over',
      createInputSlots(),
      '\r\n--b-o-u-n-d\r\nContent-Disposition: form-data; name="prompt"\r\n\r\n',
    ],
  ])('%s', async (_name, inputSlots, more) => {
    const api = await startApi(suite.db, { ...room.parts, inputSlots }, { bodyTimeoutMs: LIMIT_MS });
    onTestFinished(() => api.close());
    const tenant = await newTenant(suite.db);
    const { type, bytes } = openForm();
    const told = await cutOff(api.url, tenant, type, Buffer.concat([bytes, Buffer.from(more)]));
    expect(told).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  });
});
