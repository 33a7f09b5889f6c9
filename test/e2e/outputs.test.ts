import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startDarkroom, type Darkroom } from '../support/darkroom.ts';
import {
  ask,
  call,
  download,
  expectInvariants,
  expectPromise,
  get,
  uniquePrompt,
  untilEnd,
} from '../support/generations.ts';

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom();
});
afterAll(() => room?.stop());

/** What all processes have logged so far. */
async function logged(): Promise<string> {
  const files = await readdir(room.logs);
  return (await Promise.all(files.map((file) => readFile(join(room.logs, file), 'utf8')))).join('');
}

it('F1 T37 J2 an output stays when the provider has deleted it, tells nothing of it, and goes when its tenant says so', async () => {
  const prompt = uniquePrompt('kept');
  const asked = await ask(room, 'by-callback', prompt);
  const ended = await untilEnd(room, asked.id);
  await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  // From now on the provider answers 404 for its file.
  await room.sim.fault(prompt, { kind: 'link_404' });
  const [output] = ended.outputs;
  const link = output!.url!;
  expect(new URL(link).origin).toBe(room.apiUrl);
  const whole = await download(link);
  expect(createHash('sha256').update(whole).digest('hex')).toBe(output!.sha256);
  const middle = await download(link, { range: 'bytes=100-299' });
  expect(middle.equals(whole.subarray(100, 300))).toBe(true);
  const again = await get(room, asked.id);
  expect((await download(again.outputs[0]!.url!)).equals(whole)).toBe(true);

  const head = await fetch(link, { method: 'HEAD' });
  const told = JSON.stringify([ended, again, Object.fromEntries(head.headers)]);
  const job = (await room.sim.journal(prompt)).jobs[0]!.id;
  for (const secret of [new URL(room.sim.url).host, job, 'infro', 'sim-key'])
    expect(told).not.toContain(secret);

  const deleted = await call(room, 'DELETE', `/v1/generations/${asked.id}/outputs`);
  expect([deleted.status, deleted.body.delivery, deleted.body.outputs[0]!.url]).toEqual([
    202,
    'expired',
    null,
  ]);
  expect((await fetch(link)).status).toBe(404);
  const erased = await call(room, 'DELETE', `/v1/generations/${asked.id}/input`);
  expect([erased.status, erased.body.input, erased.body.credits]).toEqual([200, {}, ended.credits]);
  await expectInvariants(room);

  const logs = await logged();
  expect(logs).toContain('/files/outputs/{generation}/{index}');
  expect(logs).not.toContain(prompt);
  expect(logs).not.toMatch(/signature=|expires=\d/);
});
