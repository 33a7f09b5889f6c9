import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { migrate, schemaDrift } from '../../src/db/migrate.ts';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { createTestDatabase } from '../support/stack.ts';

const SCHEMA = fileURLToPath(new URL('../../prisma/schema.prisma', import.meta.url));

let folder: ReturnType<typeof temporaryFolder>;
let url: string;
beforeEach(async () => {
  folder = temporaryFolder('migrate');
  const admin = new URL(inject('templateUrl'));
  admin.pathname = '/postgres';
  url = await emptyDatabase(admin);
});
afterEach(() => folder.remove());

async function query(databaseUrl: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query(sql)).rows as unknown[];
  } finally {
    await client.end();
  }
}

async function emptyDatabase(admin: URL): Promise<string> {
  const name = `empty_${process.pid}_${Date.now()}`;
  await query(admin.href, `CREATE DATABASE ${name} TEMPLATE template0`);
  const made = new URL(admin);
  made.pathname = `/${name}`;
  return made.href;
}

/** A Prisma folder of this test with the given migrations. */
function migrations(files: Readonly<Record<string, string>>): { folder: string } {
  cpSync(SCHEMA, join(folder.path, 'schema.prisma'));
  for (const [name, sql] of Object.entries(files)) {
    mkdirSync(join(folder.path, 'migrations', name), { recursive: true });
    writeFileSync(join(folder.path, 'migrations', name, 'migration.sql'), sql);
  }
  return { folder: folder.path };
}

describe('the migrations of this checkout', () => {
  test('two processes that start at once apply each migration once', async () => {
    const results = await Promise.all([migrate(url), migrate(url)]);
    const applied = results.flatMap((result) => result.applied);
    expect(applied.length).toBeGreaterThan(0);
    expect(new Set(applied).size).toBe(applied.length);
    const rows = await query(
      url,
      'SELECT migration_name AS name FROM _prisma_migrations ORDER BY started_at',
    );
    expect(rows).toEqual(applied.map((name) => ({ name })));
    expect(await migrate(url)).toEqual({ applied: [] });
  });

  test('a test database is a copy of its own that needs no migration', async () => {
    const [one, two] = await Promise.all([createTestDatabase(), createTestDatabase()]);
    expect(one.url).not.toBe(two.url);
    expect(await migrate(one.url)).toEqual({ applied: [] });
    await Promise.all([one.drop(), two.drop()]);
  });

  test('schema.prisma and the migrated tables agree', async () => {
    const database = await createTestDatabase();
    expect(await schemaDrift(database.url)).toBe('');
    await database.drop();
  });

  test('a column that schema.prisma does not know is reported', async () => {
    const database = await createTestDatabase();
    await query(database.url, 'ALTER TABLE tenant ADD COLUMN surprise text');
    expect(await schemaDrift(database.url)).toContain('DROP COLUMN "surprise"');
    await database.drop();
  });
});

test('semicolons within functions, strings and comments do not split a migration', async () => {
  const options = migrations({
    '1_function': `-- a comment; with a semicolon
      CREATE TABLE note (body text DEFAULT 'a;b');
      CREATE FUNCTION twice(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN n := n * 2; RETURN n; END $$;`,
  });
  expect(await migrate(url, options)).toEqual({ applied: ['1_function'] });
  expect(await query(url, 'SELECT twice(21) AS answer')).toEqual([{ answer: 42 }]);
});

describe('a migration that fails', () => {
  const broken = {
    '1_first': 'CREATE TABLE first ();',
    '2_second': 'CREATE TABLE half (); CREATE TABLE x (y nope);',
  };

  test('is named with the reason, and leaves nothing of itself', async () => {
    const options = migrations(broken);
    await expect(migrate(url, options)).rejects.toThrow(
      /^Migration 2_second failed at character \d+: type "nope" does not exist\. Nothing of it was kept\.$/,
    );
    const tables = await query(
      url,
      `SELECT to_regclass('first') IS NULL AS first, to_regclass('half') IS NULL AS half`,
    );
    expect(tables).toEqual([{ first: false, half: true }]);
  });

  test('is applied by the next run once it is corrected', async () => {
    await expect(migrate(url, migrations(broken))).rejects.toThrow('2_second');
    const options = migrations({ ...broken, '2_second': 'CREATE TABLE half ();' });
    expect(await migrate(url, options)).toEqual({ applied: ['2_second'] });
  });

  test('is left to a person when it may have been applied in part', async () => {
    const options = migrations({ '1_half': 'CREATE TABLE kept ();\nCOMMIT;\nCREATE TABLE x (y nope);' });
    await expect(migrate(url, options)).rejects.toThrow('type "nope" does not exist');
    await expect(migrate(url, options)).rejects.toThrow(
      /1_half failed earlier and may have been applied in part/,
    );
  });
});

test('a migration that was edited after it was applied is refused', async () => {
  await migrate(url, migrations({ '1_first': 'CREATE TABLE first ();' }));
  const options = migrations({ '1_first': 'CREATE TABLE other ();' });
  await expect(migrate(url, options)).rejects.toThrow(/1_first was edited after it was applied/);
});

test('a database that a newer version has migrated is left as it is', async () => {
  await migrate(
    url,
    migrations({ '1_first': 'CREATE TABLE first ();', '2_newer': 'CREATE TABLE newer ();' }),
  );
  await folder.remove();
  mkdirSync(folder.path);
  expect(await migrate(url, migrations({ '1_first': 'CREATE TABLE first ();' }))).toEqual({ applied: [] });
});

test('a folder without migrations is an error, not an empty success', async () => {
  mkdirSync(join(folder.path, 'migrations'));
  cpSync(SCHEMA, join(folder.path, 'schema.prisma'));
  await expect(migrate(url, { folder: folder.path })).rejects.toThrow(/There are no migrations in/);
});
