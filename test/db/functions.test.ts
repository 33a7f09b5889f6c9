import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { assertDatabaseUsable, openDb } from '../../src/db/index.ts';
import { schemaDrift } from '../../src/db/migrate.ts';
import { useDatabase } from './database.ts';

const test = useDatabase();
const FOLDER = new URL('../../prisma/functions/', import.meta.url);

async function functionFiles(): Promise<string[]> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).toSorted();
  return Promise.all(names.map((name) => readFile(new URL(name, FOLDER), 'utf8')));
}

/** Every function of the public schema with its whole definition. */
const definitions = () =>
  test.sql<{ name: string; definition: string }>(
    `SELECT p.oid::regprocedure::text AS name, pg_get_functiondef(p.oid) AS definition
     FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace ORDER BY 1`,
  );

describe('prisma/functions', () => {
  it('is what the migrations leave in the database', async () => {
    const migrated = await definitions();
    for (const file of await functionFiles()) await test.sql(file);
    expect(await definitions()).toEqual(migrated);
  });

  it('holds every function but those of the triggers, which belong to their tables', async () => {
    const written = (await functionFiles()).join('\n').matchAll(/^CREATE OR REPLACE FUNCTION (\w+)\(/gm);
    const [triggers, others] = [[] as string[], [] as string[]];
    for (const { name, definition } of await definitions())
      (/RETURNS trigger/i.test(definition) ? triggers : others).push(name.slice(0, name.indexOf('(')));
    expect(others.toSorted()).toEqual(Array.from(written, (match) => match[1] ?? '').toSorted());
    expect(triggers).toEqual([
      'generation_event_guard',
      'generation_guard',
      'hold_guard',
      'ledger_check_balanced',
      'refuse_change',
      'submission_guard',
    ]);
  });

  it('no function depends on the zone of the session', async () => {
    const [row] = await test.sql<{ text: string }>(
      `SELECT iso_time(timestamptz '2026-11-29 23:59:59.1235+09') AS text FROM set_config('TimeZone', 'Asia/Tokyo', false)`,
    );
    await test.sql(`SELECT set_config('TimeZone', 'UTC', false)`);
    expect(row!.text).toBe('2026-11-29T14:59:59.123Z');
  });
});

describe('the migrated database', () => {
  it('is what schema.prisma says', async () => {
    expect(await schemaDrift(test.url)).toBe('');
  });

  it('is usable, in UTC on every session', async () => {
    await expect(assertDatabaseUsable(test.db)).resolves.toBeUndefined();
    const zones = await Promise.all(
      [1, 2, 3].map(() =>
        test.db.prisma.$queryRawUnsafe<{ zone: string }[]>(`SELECT current_setting('TimeZone') AS zone`),
      ),
    );
    expect(zones.flat().map(({ zone }) => zone)).toEqual(['UTC', 'UTC', 'UTC']);
  });

  it('an empty one is refused with what to do', async () => {
    const url = new URL(test.url);
    url.pathname = '/postgres';
    const empty = openDb(url.href, { poolSize: 1 });
    await expect(assertDatabaseUsable(empty)).rejects.toThrow(/run "npx darkroom migrate"/);
    await empty.close();
  });

  it('keeps every time as timestamptz(3)', async () => {
    expect(
      await test.sql(
        `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT LIKE '\\_prisma%'
         AND data_type LIKE '%time%' AND (data_type <> 'timestamp with time zone' OR datetime_precision <> 3)`,
      ),
    ).toEqual([]);
  });
});
