import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../simulators/control.ts';
import { expectSurvived } from '../support/crashing.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, expectPromise, uniquePrompt, until, untilEnd } from '../support/generations.ts';

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ worker: false });
});
afterAll(() => room?.stop());

/** Every file that has a name in storage, by its path. */
async function namedFiles(): Promise<string[]> {
  const entries = await readdir(room.outputs, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(room.outputs.length + 1))
    .filter((path) => !path.startsWith('tmp/'))
    .sort();
}

/** Headers and body of what a tenant is answered. */
async function read(path: string): Promise<string> {
  const answer = await fetch(`${room.apiUrl}${path}`, { headers: { authorization: `Bearer ${room.key}` } });
  expect(answer.status).toBe(200);
  return JSON.stringify([...answer.headers]) + (await answer.text());
}

describe('worker killed (-9) around the name of a file', () => {
  it.each(['before:fs.link', 'after:fs.link'])(
    'K11 K12 %s: the same bytes once, no other file',
    async (at) => {
      await expectSurvived(room, at);
      const rows = await room.db.prisma.output.findMany({ select: { path: true, attempt: true } });
      expect(await namedFiles()).toEqual(rows.map(({ path }) => path ?? '').sort());
      expect(Math.max(...rows.map(({ attempt }) => attempt))).toBeGreaterThan(1);
    },
  );
});

describe('a download under way', () => {
  it('its run shows how many bytes have come; T37 its tenant sees neither the provider’s host nor its key', async () => {
    const worker = await room.startWorker();
    const prompt = uniquePrompt('slow link');
    await room.sim.fault(prompt, { kind: 'link_slow', ms: 1_500, times: 1 });
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'storing');
    const bytes = await eventually(async () => {
      const { raw } = await room.client.workflow.getHandle(asked.id).describe();
      const [details] = raw.pendingActivities?.[0]?.heartbeatDetails?.payloads ?? [];
      const told: unknown = details?.data ? JSON.parse(Buffer.from(details.data).toString()) : undefined;
      return typeof told === 'number' && told > 0 ? told : undefined;
    }, 90_000);
    const said = [await read(`/v1/generations/${asked.id}`)];
    await untilEnd(room, asked.id);
    const { outputs } = await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect(bytes).toBeLessThanOrEqual(outputs[0]?.bytes ?? 0);
    const { pathname, search, origin } = new URL(outputs[0]?.url ?? '');
    expect(origin).toBe(room.apiUrl);
    for (const path of [`/v1/generations/${asked.id}`, '/v1/generations?limit=5', pathname + search]) {
      said.push(await read(path));
    }
    expect(said[1]).toContain(asked.id);
    const secrets = [new URL(room.sim.url).host, 'sim-key', '/files/job', 'infro', 'job_'];
    expect(secrets.filter((secret) => said.join('\n').includes(secret))).toEqual([]);
    await worker.stop(3_000, 'SIGKILL');
  });
});
