import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { openChangeFeed } from '../../src/db/index.ts';
import type { ChangeFeed } from '../../src/db/index.ts';
import { openTunnel, urlThrough } from '../support/tunnel.ts';
import { useDatabase } from './database.ts';

const test = useDatabase();

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeAll(() => void process.on('unhandledRejection', note));
afterAll(() => void process.off('unhandledRejection', note));

const open: { close(): unknown }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((part) => part.close()));
});

interface Heard {
  readonly feed: ChangeFeed;
  /** Payloads of the generations' channel, in order. */
  readonly payloads: (string | null)[];
  readonly problems: unknown[];
}

function listen(url: string, options: Parameters<typeof openChangeFeed>[2] = {}): Heard {
  const [payloads, problems]: [(string | null)[], unknown[]] = [[], []];
  const feed = openChangeFeed(url, (problem) => problems.push(problem), options);
  feed.subscribe('darkroom_generation', (payload) => payloads.push(payload));
  open.push(feed);
  return { feed, payloads, problems };
}

const notify = (payload: string, channel = 'darkroom_generation') =>
  test.sql('SELECT pg_notify($1, $2)', [channel, payload]);

const LIMIT = { timeout: 30_000 };

describe('the change feed', () => {
  it('every feed on the database hears of a change, once it is committed, and only of its channel', async () => {
    const [first, second] = [listen(test.url), listen(test.url)];
    const webhooks: (string | null)[] = [];
    const stop = first.feed.subscribe('darkroom_webhook', (payload) => webhooks.push(payload));
    await vi.waitFor(() => expect([first.payloads, second.payloads]).toEqual([[null], [null]]), LIMIT);
    const client = await test.connect();
    await client.query('BEGIN');
    await client.query("SELECT pg_notify('darkroom_generation', 'gen_rolled_back')");
    await client.query('ROLLBACK');
    await notify('', 'darkroom_webhook');
    await notify('gen_1');
    await vi.waitFor(
      () =>
        expect([first.payloads, second.payloads]).toEqual([
          [null, 'gen_1'],
          [null, 'gen_1'],
        ]),
      LIMIT,
    );
    expect(webhooks).toEqual([null, '']);
    stop();
    stop();
    await notify('', 'darkroom_webhook');
    await notify('gen_2');
    await vi.waitFor(() => expect(first.payloads).toEqual([null, 'gen_1', 'gen_2']), LIMIT);
    expect(webhooks).toEqual([null, '']);
    expect([first.problems, second.problems]).toEqual([[], []]);
  });

  it('a connection that was killed is made again, and whoever listens is told that anything may have changed', async () => {
    const { payloads, problems } = listen(test.url);
    for (const round of [1, 2]) {
      await vi.waitFor(() => expect(payloads).toHaveLength(round * 2 - 1), LIMIT);
      expect(payloads.at(-1)).toBeNull();
      await notify(`gen_${round}`);
      await vi.waitFor(() => expect(payloads.at(-1)).toBe(`gen_${round}`), LIMIT);
      const killed = await test.sql<{ killed: boolean }>(
        `SELECT pg_terminate_backend(pid) AS killed FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'darkroom-listen'`,
      );
      // Sessions that earlier tests or rounds have ended may still be there.
      expect(killed).toContainEqual({ killed: true });
    }
    await vi.waitFor(() => expect(payloads).toEqual([null, 'gen_1', null, 'gen_2', null]), LIMIT);
    expect(problems).toHaveLength(2);
  });

  it('a connection over which nothing comes any more is noticed and made again', async () => {
    const tunnel = await openTunnel(test.url);
    open.push(tunnel);
    const { payloads, problems } = listen(tunnel.url, { probeEveryMs: 100, answerWithinMs: 5_000 });
    await vi.waitFor(() => expect(payloads).toEqual([null]), LIMIT);
    tunnel.swallow();
    await vi.waitFor(() => expect(payloads).toEqual([null, null]), LIMIT);
    await notify('gen_1');
    await vi.waitFor(() => expect(payloads).toEqual([null, null, 'gen_1']), LIMIT);
    expect(problems).toHaveLength(1);
  });

  it('the database is away at the start: it keeps trying, and comes in once it is there', async () => {
    const closed = createServer();
    const url = await urlThrough(closed, test.url);
    closed.close();
    await once(closed, 'close');
    const { payloads, problems } = listen(url);
    await vi.waitFor(() => expect(problems.length).toBeGreaterThanOrEqual(2), LIMIT);
    expect(payloads).toEqual([]);
    open.push(await openTunnel(test.url, Number(new URL(url).port)));
    await vi.waitFor(() => expect(payloads).toEqual([null]), LIMIT);
  });

  it.each(['refused', 'taken without an answer'])(
    'close() ends it at once while connections are %s',
    async (kind) => {
      const server = createServer();
      const url = await urlThrough(server, test.url);
      if (kind === 'refused') server.close();
      else open.push(server);
      const { feed, problems } = listen(url, { answerWithinMs: 600_000 });
      if (kind === 'refused') await vi.waitFor(() => expect(problems).not.toEqual([]), LIMIT);
      else await once(server, 'connection');
      const before = problems.length;
      await feed.close();
      await feed.close();
      expect(problems).toHaveLength(before);
    },
  );

  it('close() ends the session, and no hint comes after it', async () => {
    const { feed, payloads, problems } = listen(test.url);
    await vi.waitFor(() => expect(payloads).toEqual([null]), LIMIT);
    await feed.close();
    await vi.waitFor(async () => {
      const sessions = await test.sql(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'darkroom-listen'",
      );
      expect(sessions).toEqual([]);
    }, LIMIT);
    await notify('gen_1');
    expect([payloads, problems]).toEqual([[null], []]);
  });

  it('what one listener throws is told and keeps nothing from the others', async () => {
    const { feed, payloads, problems } = listen(test.url);
    const defect = new Error('a defect of the listener');
    const seen: (string | null)[] = [];
    feed.subscribe('darkroom_generation', () => {
      throw defect;
    });
    feed.subscribe('darkroom_generation', (payload) => seen.push(payload));
    await vi.waitFor(() => expect(seen).toEqual([null]), LIMIT);
    await notify('gen_1');
    await vi.waitFor(() => expect(seen).toEqual([null, 'gen_1']), LIMIT);
    expect([payloads, problems]).toEqual([
      [null, 'gen_1'],
      [defect, defect],
    ]);
  });

  it('leaves no rejection unhandled in all of that', async () => {
    // One is told only after the turn of the loop in which it happened.
    await new Promise(setImmediate);
    expect(unhandled).toEqual([]);
  });
});
