import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { useDatabase } from './database.ts';

const FOLDER = new URL('../../prisma/migrations/', import.meta.url);
/** The first that was written for databases with many rows and processes at work. */
const FIRST = '20261130300000';

const test = useDatabase();

/** The statements of each later migration that makes indexes. */
async function indexMigrations(): Promise<string[][]> {
  const names = (await readdir(FOLDER)).filter((name) => name >= FIRST && /^\d/.test(name)).toSorted();
  const texts = await Promise.all(
    names.map((name) => readFile(new URL(`${name}/migration.sql`, FOLDER), 'utf8')),
  );
  return texts
    .filter((text) => text.includes('CREATE INDEX'))
    .map((text) => text.replaceAll(/^--.*$/gm, '').split(';'))
    .map((statements) => statements.map((text) => text.trim()).filter((text) => text !== ''));
}

/** As calls lock tables: a callback writes its row before its generation's, a step the other way round. */
const CALLS = [
  ['callback', 'generation'],
  ['generation', 'callback'],
  ['webhook_delivery', 'generation'],
  ['generation', 'webhook_delivery'],
];

it('the indexes of a migration can be made while callbacks and steps are written', async () => {
  const migrations = await indexMigrations();
  const made = migrations.flat().flatMap((text) => /^CREATE INDEX "(\w+)"/.exec(text)?.[1] ?? []);
  expect(made.length).toBeGreaterThan(0);
  await test.sql(`DROP INDEX ${made.join(', ')}`);
  const migrating = await test.connect();
  const clients = await Promise.all(CALLS.map(() => test.connect()));
  const problems: unknown[] = [];
  const note = (problem: unknown) => problems.push(problem);
  for (const statements of migrations) {
    await migrating.query('BEGIN');
    let calls: Promise<unknown>[] | undefined;
    for (const statement of statements) {
      await migrating.query(statement).catch(note);
      // The first one takes long where there are many rows: calls go on until they meet its lock.
      calls ??= CALLS.map(([first, second], n) =>
        clients[n]!.query(
          `BEGIN; LOCK TABLE ${first} IN ROW EXCLUSIVE MODE; LOCK TABLE ${second} IN ROW EXCLUSIVE MODE; COMMIT`,
        ).catch(note),
      );
      await sleep(100);
    }
    await migrating.query('COMMIT');
    await Promise.all(calls ?? []);
  }
  expect(problems).toEqual([]);
});
