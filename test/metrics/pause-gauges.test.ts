import { expect, it } from 'vitest';
import { pauseTarget, type PauseKind } from '../../src/db/pauses.ts';
import { createPauseGauges } from '../../src/metrics/pause-gauges.ts';
import { stubDb } from '../api/api.ts';
import { useDatabase } from '../db/database.ts';
import { newTenant } from '../db/fixtures.ts';
import { Scrape } from './samples.ts';

const database = useDatabase();

const shown = () => Scrape.fresh(() => createPauseGauges(database.db));

it('names paused providers and models, and only counts tenants', async () => {
  expect((await shown()).value('darkroom_paused', { kind: 'tenant', target: 'all' })).toBe(0);
  const tenants = [await newTenant(database.db), await newTenant(database.db)];
  const paused: [PauseKind, string][] = [
    ['provider', 'infro'],
    ['model', 'infro-video'],
    ...tenants.map(({ id }): [PauseKind, string] => ['tenant', id]),
  ];
  for (const [kind, target] of paused) {
    await pauseTarget(database.db, { kind, target, reason: 'test', actor: 'test' });
  }
  const scrape = await shown();
  expect(scrape.value('darkroom_paused', { kind: 'provider', target: 'infro' })).toBe(1);
  expect(scrape.value('darkroom_paused', { kind: 'model', target: 'infro-video' })).toBe(1);
  expect(scrape.value('darkroom_paused', { kind: 'tenant', target: 'all' })).toBe(2);
  expect(scrape.value('darkroom_paused', { kind: 'tenant', target: tenants[0]!.id })).toBeUndefined();
});

it('shows nothing while the database can not be read', async () => {
  const gauges = createPauseGauges(stubDb().db);
  await gauges.refresh();
  expect(new Scrape(await gauges.registry.metrics()).samples).toEqual([]);
});
