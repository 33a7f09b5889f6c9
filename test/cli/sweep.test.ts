import { expect, it } from 'vitest';
import { useDatabase } from '../db/database.ts';
import { accepted, newTenant } from '../db/fixtures.ts';
import { temporalAddress } from '../support/stack.ts';
import { commandsOn, jsonOf } from './run.ts';

const database = useDatabase();
const darkroom = (temporal?: string) =>
  commandsOn({
    databaseUrl: () => database.url,
    ...(temporal === undefined ? {} : { temporalAddress: temporal }),
  });

async function overdue(): Promise<string> {
  const id = await accepted(database.db, await newTenant(database.db));
  await database.sql(`UPDATE generation SET due_at = now() - interval '1 minute' WHERE id = $1`, [id]);
  return id;
}

it('tells counts, and that no provider is asked without the settings of the API', async () => {
  await overdue();
  const ran = await darkroom(temporalAddress())('sweep', '--json');
  expect(ran.stderr).toContain('so no provider is asked');
  expect(jsonOf(ran)).toMatchObject({
    ok: true,
    counts: { due_woken: 1, violations: 0 },
    failed: [],
    left_to_workers: ['jobs', 'late'],
  });
});

it('Temporal away: exit code 1, told by name, and the row is due again', async () => {
  const id = await overdue();
  const ran = await darkroom()('sweep');
  expect(ran.code).toBe(1);
  expect(ran.stdout).toContain('due: temporal_unavailable');
  expect(ran.stdout).toContain(id);
  expect(ran.stderr).toContain('Not all went well');
  const row = await database.db.prisma.generation.findUniqueOrThrow({ where: { id } });
  expect(row.sweepCount).toBe(0);
});
