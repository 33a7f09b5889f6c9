import { once } from 'node:events';
import { EventSource } from 'undici';
import { describe, expect, it } from 'vitest';
import { finish } from '../db/finish.ts';
import { ask, begin } from './following.ts';
import { useApi } from './suite.ts';
import { get } from './tenants.ts';

const suite = useApi();
const TYPES = ['created', 'stage', 'progress', 'cancellation', 'snapshot', 'terminal'];

describe('a page’s own EventSource, with a watch token', () => {
  it('connects again by itself after a cut, misses nothing, and stops after the end', async () => {
    const { tenant, id, path } = await ask(suite);
    const seen = await get(suite.api.url, tenant, `/v1/generations/${id}`);
    const url = `${suite.api.url}${path}?watch_token=${String(seen.headers['watch-token'])}`;
    const source = new EventSource(url);
    const told: string[] = [];
    for (const type of TYPES) {
      source.addEventListener(type, (event) => {
        const { lastEventId, data } = event as unknown as { lastEventId: string; data: string };
        told.push(`${lastEventId} ${type} ${(JSON.parse(data) as { generation: string }).generation}`);
      });
    }
    await expect.poll(() => told).toHaveLength(1);
    suite.api.server.closeAllConnections();
    await begin(suite.db, id);
    await expect.poll(() => told, { timeout: 30_000 }).toHaveLength(4);
    await finish(suite.db, id);
    await expect.poll(() => told, { timeout: 30_000 }).toHaveLength(5);
    expect(told).toEqual(
      ['1 created', '2 stage', '3 stage', '4 progress', '5 terminal'].map((text) => `${text} ${id}`),
    );
    // It connects once more and is answered 204, which ends it for good.
    const [request] = (await once(suite.api.server, 'request')) as [{ headers: Record<string, string> }];
    expect(request.headers['last-event-id']).toBe('5');
    await expect.poll(() => source.readyState, { timeout: 30_000 }).toBe(EventSource.CLOSED);
    expect(told).toHaveLength(5);
  });
});
