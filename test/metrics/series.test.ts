import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApi, type TestApi } from '../api/api.ts';
import { send } from '../api/client.ts';
import { useDatabase } from '../db/database.ts';
import { accepted, create, newTenant } from '../db/fixtures.ts';
import { Scrape } from './samples.ts';

const database = useDatabase();
let api: TestApi;
beforeAll(async () => {
  api = await startApi(database.db);
});
afterAll(() => api.close());

/** Each series of ours, by name and labels; those of the process itself come and go with what Node does. */
async function series(): Promise<string[]> {
  const { samples } = await Scrape.whole(api.url);
  return samples
    .filter(({ name }) => name.startsWith('darkroom_'))
    .map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`)
    .toSorted();
}

async function useIt(): Promise<void> {
  const tenant = await newTenant(database.db, 10_000);
  for (let jobs = 0; jobs < 5; jobs += 1) await create(database.db, tenant);
  await accepted(database.db, tenant);
  const paths = ['/callbacks/made-up-', '/v1/generations/', '/none/'];
  for (const path of paths)
    await send(api.url, { method: 'POST', path: `${path}${tenant.id}`, headers: {}, body: '{}' });
}

it('T60 new tenants, jobs, made-up providers and paths add no series', async () => {
  // Each route has its series from its first request on.
  await useIt();
  await series();
  const before = await series();
  for (let tenants = 0; tenants < 20; tenants += 1) await useIt();
  // The database is read at most every 5 s.
  const waiting = async () =>
    (await Scrape.of(api.url)).value('darkroom_jobs_waiting', { provider: 'infro', by: 'callback' });
  await expect.poll(waiting, { timeout: 45_000, interval: 500 }).toBe(21);
  expect(await series()).toEqual(before);
}, 240_000);
