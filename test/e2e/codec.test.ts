import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Child } from '../../src/dev/child.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, call, expectPromise, get, untilEnd, uniquePrompt } from '../support/generations.ts';
import { askHeld, expectDelivered, release } from '../support/held.ts';
import { historyOf } from '../support/history.ts';

// Each scenario stops and starts several workers.
vi.setConfig({ testTimeout: 240_000 });

const key = (id: string, byte: number): string => `${id}:${Buffer.alloc(32, byte).toString('base64')}`;
const [ONE, TWO] = [key('k1', 1), key('k2', 2)];

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ variables: { TEMPORAL_CODEC_KEYS: ONE } });
});
afterAll(() => room?.stop());

interface Found {
  /** Key ids, or the encoding of what is not encrypted. */
  readonly payloads: string[];
  readonly messages: string[];
}

/** Search attributes are indexed, and of an activity that was cancelled while it waited the server itself says so. */
const NOT_OURS = new Set(['searchAttributes', 'indexedFields', 'activityTaskCanceledEventAttributes']);
const bytesOf = (value: unknown): string => Buffer.from(String(value), 'base64').toString();

/** All payloads that we gave, and all messages of failures in a history. */
function readable(value: unknown, found: Found = { payloads: [], messages: [] }): Found {
  if (typeof value !== 'object' || value === null) return found;
  const { metadata, message, stackTrace = '', source } = value as Record<string, unknown>;
  const { encoding, 'encryption-key-id': keyId } = (metadata ?? {}) as Record<string, unknown>;
  if (encoding !== undefined) found.payloads.push(keyId === undefined ? bytesOf(encoding) : bytesOf(keyId));
  if (source !== undefined) found.messages.push(`${String(message)}${String(stackTrace)}`);
  for (const [name, inner] of Object.entries(value)) if (!NOT_OURS.has(name)) readable(inner, found);
  return found;
}

/** Stops the worker that runs, and starts one with these keys; it runs in its place until the next call. */
let worker: Child | undefined;
async function replaceWorker(keys: string | undefined): Promise<Child> {
  const { code } = await (worker ?? room.running.worker).stop(60_000);
  expect(code).toBe(0);
  worker = await room.startWorker(undefined, { TEMPORAL_CODEC_KEYS: keys });
  return worker;
}

describe('TEMPORAL_CODEC_KEYS', () => {
  it('a history has no readable payload and no text of a failure, and the run obeys its signals', async () => {
    const prompt = uniquePrompt('under a key');
    await room.sim.fault(prompt, { kind: 'stuck' }, { kind: 'no_callbacks' });
    const asked = await ask(room, 'by-poll', prompt, { deadline_seconds: 1_800 });
    // A look at a job that goes on is a failure to Temporal.
    const { runId, failure } = await eventually(async () => {
      const found = await room.client.workflow
        .getHandle(asked.id)
        .describe()
        .catch(() => undefined);
      const last = found?.raw.pendingActivities?.[0]?.lastFailure;
      return found && last ? { runId: found.runId, failure: last } : undefined;
    }, 60_000);
    expect(failure.message).toBe('Encoded failure');
    expect((await call(room, 'DELETE', `/v1/generations/${asked.id}`)).status).toBe(202);
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { state: 'cancelled', jobs: 1 });
    // This run: a signal that comes after its end starts another, which only finds that.
    const run = room.client.workflow.getHandle(asked.id, runId);
    await eventually(async () => ((await run.describe()).status.name === 'RUNNING' ? undefined : true));
    const { events } = await run.fetchHistory();
    const { payloads, messages } = readable(JSON.parse(JSON.stringify(events)));
    // Input and summary of the run, and of submit, collect and settle with their results, and the signal, at least.
    expect(payloads.length).toBeGreaterThanOrEqual(10);
    expect([...new Set(payloads)]).toEqual(['k1']);
    expect(messages.filter((message) => message !== 'Encoded failure')).toEqual([]);
  });

  it('a worker without the key says which is missing and loses nothing; rotated, the same run goes on', async () => {
    const asked = await askHeld(room);
    for (const keys of [undefined, TWO]) {
      const unable = await replaceWorker(keys);
      if (keys === undefined) await release(room, asked);
      await eventually(async () => {
        const log = await readFile(unable.logFile, 'utf8');
        return log.includes('TEMPORAL_CODEC_KEYS has no key \\"k1\\": add it') ? true : undefined;
      }, 60_000);
      expect(await get(room, asked.id)).toMatchObject({ state: 'running', credits: { held: 40 } });
    }
    await replaceWorker(`${TWO},${ONE}`);
    await expectDelivered(room, asked);
    const { payloads } = readable(await historyOf(room, asked.id));
    expect([...new Set(payloads)].sort()).toEqual(['k1', 'k2']);
  });

  it('a run that began without keys goes on with them', async () => {
    await room.running.api.stop(10_000, 'SIGINT');
    const plain = await room.startApi(undefined, undefined, { TEMPORAL_CODEC_KEYS: undefined });
    await replaceWorker(undefined);
    const asked = await askHeld(room);
    await replaceWorker(ONE);
    await release(room, asked);
    await expectDelivered(room, asked);
    const { payloads } = readable(await historyOf(room, asked.id));
    expect([...new Set(payloads)].sort()).toEqual(['json/plain', 'k1']);
    await plain.stop(10_000, 'SIGINT');
  });
});
