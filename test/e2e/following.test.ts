import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Child } from '../../src/dev/child.ts';
import { freePorts } from '../../src/dev/ports.ts';
import type { GenerationView } from '../../src/domain/generation-view.ts';
import { follow, type Followed } from '../api/event-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, expectPromise, get, untilEnd, uniquePrompt } from '../support/generations.ts';

/** A is the API of the room, B a second process on the same database; the worker is neither. */
let room: Darkroom;
let b: { readonly url: string; readonly child: Child };
beforeAll(async () => {
  room = await startDarkroom();
  const [port = 0] = await freePorts(1);
  b = { url: `http://127.0.0.1:${port}`, child: await room.startApi(undefined, port) };
});
afterAll(() => room?.stop());

function open(url: string, id: string, lastEventId?: string): Promise<Followed> {
  return follow(url, `/v1/generations/${id}/events`, {
    authorization: `Bearer ${room.key}`,
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  });
}

async function kept(id: string): Promise<string[]> {
  const rows = await room.db.prisma.generationEvent.findMany({
    where: { generationId: id },
    orderBy: { seq: 'asc' },
  });
  return rows.map(({ seq, type }) => `${seq} ${type}`);
}

const shown = (stream: Followed) => stream.events().map(({ id, event }) => `${id} ${event}`);

describe('created at one API process, followed at another', () => {
  it('SSE-1 every event comes in order until the terminal one', async () => {
    const asked = await ask(room, 'by-callback', uniquePrompt('followed'));
    const stream = await open(b.url, asked.id);
    expect(await stream.over).toBe('end');
    expect(shown(stream)).toEqual(await kept(asked.id));
    expect(stream.events().at(-1)?.data).toMatchObject({
      generation: asked.id,
      state: 'succeeded',
      delivery: 'stored',
      error: null,
      credits: { captured: 40, released: 0 },
    });
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });

  it('Prefer: wait answers each time it moved, and never because the time was over', async () => {
    const asked = await ask(room, 'by-callback', uniquePrompt('waited for'));
    const answers: { tag: string; view: GenerationView }[] = [];
    for (let known = ''; answers.at(-1)?.view.stage !== 'done'; known = answers.at(-1)!.tag) {
      const answer = await fetch(`${b.url}/v1/generations/${asked.id}`, {
        headers: { authorization: `Bearer ${room.key}`, prefer: 'wait=60', 'if-none-match': known },
      });
      expect([answer.status, answer.headers.get('preference-applied')]).toEqual([200, 'wait=60']);
      answers.push({
        tag: answer.headers.get('etag')!,
        view: (await answer.json()) as GenerationView,
      });
    }
    expect(new Set(answers.map(({ tag }) => tag)).size).toBe(answers.length);
    expect(answers.at(-1)?.view.state).toBe('succeeded');
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });

  it('T32 closing the stream cancels nothing; SIGTERM ends it, and the rest comes from the other process', async () => {
    const prompt = uniquePrompt('left');
    await room.sim.fault(prompt, { kind: 'stuck' });
    const asked = await ask(room, 'by-callback', prompt, { deadline_seconds: 600 });
    const left = await open(b.url, asked.id);
    const isWaiting = (stream: Followed) =>
      stream.until((frames) => frames.some(({ data }) => data?.['stage'] === 'waiting'));
    await isWaiting(left);
    left.leave();
    const stopped = await open(b.url, asked.id);
    await isWaiting(stopped);
    const ended = b.child.stop(30_000);
    expect(await stopped.over).toBe('end');
    expect(stopped.events().map(({ event }) => event)).not.toContain('terminal');
    const [job] = (await room.sim.journal(prompt)).jobs;
    await room.sim.post(`jobs/${job!.id}`, { status: 'succeeded' });
    const rest = await open(room.apiUrl, asked.id, stopped.events().at(-1)!.id);
    expect(await rest.over).toBe('end');
    expect([...shown(stopped), ...shown(rest)]).toEqual(await kept(asked.id));
    expect(await ended).toEqual({ code: 0, signal: null });
    await untilEnd(room, asked.id);
    expect((await get(room, asked.id)).cancellation).toBeNull();
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });
});
