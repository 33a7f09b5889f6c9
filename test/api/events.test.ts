import { describe, expect, it } from 'vitest';
import { pruneHistory } from '../../src/db/index.ts';
import { generationEventSchema } from '../../src/domain/generation-event.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { finish } from '../db/finish.ts';
import { observe, receive } from '../db/fixtures.ts';
import { ask, begin, open, shown } from './following.ts';
import type { Frame } from './event-client.ts';
import { useApi } from './suite.ts';
import { get } from './tenants.ts';

const suite = useApi();

const from = (lastEventId: string) => ({ 'Last-Event-ID': lastEventId });
const progressOf = (frames: readonly Frame[]) =>
  frames.flatMap(({ event, data }) => (event === 'progress' ? [data!['progress']] : []));

describe('GET /v1/generations/{id}/events', () => {
  it('SSE-1 SSE-3 I2 every event in order while it runs, and the end of the stream after the terminal one', async () => {
    const { tenant, id, path } = await ask(suite);
    const stream = await open(suite.api.url, { tenant, path }, { 'Accept-Encoding': 'gzip, br' });
    expect([stream.status, stream.headers]).toMatchObject([
      200,
      { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
    ]);
    for (const header of ['content-encoding', 'access-control-allow-origin', 'content-length']) {
      expect(stream.headers[header]).toBeUndefined();
    }
    await stream.until((frames) => frames.length === 2);
    expect(stream.frames[0]).toEqual({ retry: '2000' });
    await begin(suite.db, id);
    await stream.until((frames) => frames.at(-1)?.event === 'progress');
    await finish(suite.db, id);
    expect(await stream.over).toBe('end');
    expect(shown(stream.events())).toEqual(['1 created', '2 stage', '3 stage', '4 progress', '5 terminal']);
    for (const { data } of stream.events()) generationEventSchema.strict().parse(data);
    const told = stream.events().map(({ data: { generation, at, ...rest } = {} }) => {
      expect([generation, new Date(String(at)).toISOString()]).toEqual([id, at]);
      return rest;
    });
    expect(told).toEqual([
      { state: 'queued', stage: 'queued' },
      { state: 'queued', stage: 'submitting' },
      { state: 'running', stage: 'waiting' },
      { progress: 0.25 },
      {
        state: 'failed',
        stage: 'done',
        delivery: 'failed',
        error: {
          code: 'provider_failed',
          message: 'The provider failed while rendering. Create a new generation to try again.',
          retryable: true,
        },
        credits: { captured: 0, released: 100 },
      },
    ]);
  });

  it('SSE-1 goes on after Last-Event-ID, or ?last_event_id=, of which the header is the newer', async () => {
    const { tenant, id, path } = await ask(suite);
    await begin(suite.db, id);
    await finish(suite.db, id);
    const all = ['1 created', '2 stage', '3 stage', '4 progress', '5 terminal'];
    const cases: [string, Readonly<Record<string, string>>, number][] = [
      ['', {}, 0],
      ['', from('0'), 0],
      ['', from(''), 0],
      ['', from('2'), 2],
      ['?last_event_id=3', {}, 3],
      ['?last_event_id=1', from('4'), 4],
      ['?last_event_id=', {}, 0],
    ];
    for (const [query, headers, after] of cases) {
      const stream = await open(suite.api.url, { tenant, path: `${path}${query}` }, headers);
      expect(await stream.over).toBe('end');
      expect(shown(stream.events())).toEqual(all.slice(after));
    }
  });

  it('after the end: 204 for who has the terminal event, so that browsers do not connect again', async () => {
    const { tenant, id, path } = await ask(suite);
    await finish(suite.db, id);
    for (const known of [
      { path, headers: from('2') },
      { path: `${path}?last_event_id=2`, headers: {} },
    ]) {
      const stream = await open(suite.api.url, { tenant, path: known.path }, known.headers);
      expect([stream.status, await stream.over, stream.text()]).toEqual([204, 'end', '']);
    }
  });

  it.each(['5', '4294967296', '99999999999', 'abc', '-1', '1.5', '01', '1 2', '0x1'])(
    'I2 Last-Event-ID %s is none of ours: where it stands, then what comes',
    async (lastEventId) => {
      const asking = await ask(suite);
      await begin(suite.db, asking.id);
      const stream = await open(suite.api.url, asking, from(lastEventId));
      await stream.until((frames) => frames.length === 2);
      const { data, ...snapshot } = stream.frames[1]!;
      expect(snapshot).toEqual({ id: '4', event: 'snapshot' });
      const row = await suite.db.prisma.generation.findUniqueOrThrow({ where: { id: asking.id } });
      expect(generationEventSchema.strict().parse(data)).toEqual({
        generation: asking.id,
        at: row.updatedAt.toISOString(),
        state: 'running',
        stage: 'waiting',
        progress: 0.25,
        delivery: 'pending',
        error: null,
        outcome: null,
      });
      await finish(suite.db, asking.id);
      expect(await stream.over).toBe('end');
      expect(shown(stream.events())).toEqual(['4 snapshot', '5 terminal']);
    },
  );

  it('I2 of an ended one: the terminal event comes after the snapshot, so that every stream ends with it', async () => {
    const asking = await ask(suite);
    await begin(suite.db, asking.id);
    await finish(suite.db, asking.id);
    for (const lost of [from('77'), from('x')]) {
      const stream = await open(suite.api.url, asking, lost);
      expect(await stream.over).toBe('end');
      expect(shown(stream.events())).toEqual(['4 snapshot', '5 terminal']);
      expect(stream.events()[0]?.data).toMatchObject({ state: 'failed', stage: 'done' });
    }
  });

  it('I2 events that were pruned: a snapshot for who missed some, the terminal event for all', async () => {
    const asking = await ask(suite);
    await begin(suite.db, asking.id);
    await finish(suite.db, asking.id);
    await expect
      .poll(async () => (await pruneHistory(suite.db, { keepMs: 0, unmatchedKeepMs: 0, limit: 100 })).events)
      .toBeGreaterThan(0);
    const cases: [Readonly<Record<string, string>>, string[]][] = [
      [{}, ['5 terminal']],
      [from('0'), ['4 snapshot', '5 terminal']],
      [from('3'), ['4 snapshot', '5 terminal']],
      [from('4'), ['5 terminal']],
      [from('6'), ['4 snapshot', '5 terminal']],
    ];
    for (const [headers, told] of cases) {
      const stream = await open(suite.api.url, asking, headers);
      expect(await stream.over).toBe('end');
      expect(shown(stream.events())).toEqual(told);
    }
    expect((await open(suite.api.url, asking, from('5'))).status).toBe(204);
  });

  it('more than a page: each event once, in order', async () => {
    const asking = await ask(suite);
    await begin(suite.db, asking.id);
    for (let i = 1; i <= 250; i += 1) {
      await observe(suite.db, asking.id, 'running', { progress: 0.25 + i / 1_000 });
    }
    const stream = await open(suite.api.url, asking);
    await stream.until((frames) => frames.length === 255);
    await finish(suite.db, asking.id);
    expect(await stream.over).toBe('end');
    const ids = stream.events().map(({ id }) => Number(id));
    expect(ids).toEqual(Array.from({ length: 255 }, (_, i) => i + 1));
  });
});

describe('progress never goes backwards', () => {
  it('what comes late and lower, by look or callback, moves nothing and is no event', async () => {
    const asking = await ask(suite);
    const { id, tenant } = asking;
    await begin(suite.db, id);
    const stream = await open(suite.api.url, asking);
    const read = async () => (await get(suite.api.url, tenant, `/v1/generations/${id}`)).json()['progress'];
    const steps: [by: 'look' | 'callback', told: number | null, stands: number][] = [
      ['callback', 0.5, 0.5],
      ['callback', 0.4, 0.5],
      ['look', 0.3, 0.5],
      ['look', 0.5, 0.5],
      ['look', null, 0.5],
      ['look', 0.75, 0.75],
      ['callback', 0.6, 0.75],
      ['callback', 0, 0.75],
      ['look', 0, 0.75],
    ];
    for (const [by, progress, stands] of steps) {
      if (by === 'look') await observe(suite.db, id, 'running', { progress });
      else await receive(suite.db, { submissionId: submissionId(id, 1), progress });
      expect(await read()).toBe(stands);
    }
    await observe(suite.db, id, 'succeeded');
    expect(await read()).toBe(1);
    await receive(suite.db, { submissionId: submissionId(id, 1), progress: 0.9 });
    await observe(suite.db, id, 'running', { progress: 0.8 });
    expect(await read()).toBe(1);
    await finish(suite.db, id);
    await receive(suite.db, { submissionId: submissionId(id, 1), progress: 0.9 });
    expect(await stream.over).toBe('end');
    expect(progressOf(stream.frames)).toEqual([0.25, 0.5, 0.75]);
    const events = await suite.db.prisma.generationEvent.findMany({
      where: { generationId: id },
      orderBy: { seq: 'asc' },
    });
    expect(events.at(-1)?.type).toBe('terminal');
    expect(events).toHaveLength(stream.events().length);
  });
});
