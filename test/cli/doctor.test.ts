import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDb, readInvariants, settle } from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import { createStorage } from '../../src/storage/index.ts';
import { newTenant, store, storing } from '../db/fixtures.ts';
import { createTestDatabase } from '../support/stack.ts';
import type { TestDatabase } from '../support/stack.ts';
import { commandsOn, jsonOf } from './run.ts';

const FILES = 'every stored output has its file with the same sha256';
const INPUTS = 'every stored input has its file with the same sha256';
const ROWS = 'every old file has its row';
let database: TestDatabase;
let db: Db;
let folder = '';
let generation = '';
const darkroom = commandsOn({ databaseUrl: () => database.url, storageUrl: () => `file:${folder}` });

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDb(database.url, { poolSize: 2 });
  folder = await mkdtemp(join(tmpdir(), 'darkroom-doctor-'));
  const file = await createStorage(`file:${folder}`).create(await newOutput());
  await file.write(Buffer.from('a film'));
  const { path, bytes, sha256 } = await file.commit();
  await store(db, generation, { path, bytes, sha256 });
  await settle(db, generation, { state: 'succeeded', errorCode: null });
});
afterAll(async () => {
  await db.close();
  await database.drop();
  await rm(folder, { recursive: true });
});

async function newOutput(): Promise<string> {
  generation = await storing(db, await newTenant(db));
  return `${generation}/0-1`;
}

/** Progress is told to whoever waits, so a busy machine has some. */
const withoutProgress = (stderr: string) => stderr.replaceAll(/^\d+ of \d+: .*\n/gm, '');

/** One statement with every guard off, undone by the second. */
async function violated(statement: string, undo: string) {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    await client.query('SET session_replication_role = replica');
    await client.query(statement);
    const ran = await darkroom('doctor');
    const json = await darkroom('doctor', '--json');
    await client.query(undo);
    return { ran, json };
  } finally {
    await client.end();
  }
}

describe('darkroom doctor', () => {
  it('prints each invariant by its name and ends with 0 when all hold', async () => {
    const names = (await readInvariants()).map(({ name }) => name);
    expect(names.length).toBeGreaterThanOrEqual(27);
    const { code, stdout, stderr } = await darkroom('doctor');
    expect({ code, stderr: withoutProgress(stderr) }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trimEnd().split('\n')).toEqual([
      ...names.map((name) => `ok  ${name}`),
      `ok  ${FILES}`,
      `ok  ${INPUTS}`,
      `ok  ${ROWS}`,
      `All ${names.length + 3} invariants hold.`,
    ]);
    expect(jsonOf(await darkroom('doctor', '--json'))).toMatchObject({ ok: true });
  });

  it('a violation: 1, how many, and which rows', async () => {
    const { ran, json } = await violated(
      `UPDATE hold SET refunded = 5 WHERE generation_id = '${generation}'`,
      `UPDATE hold SET refunded = 0 WHERE generation_id = '${generation}'`,
    );
    const name = 'refunds are what the hold says, and never more than what was captured';
    expect(ran.code).toBe(1);
    expect(ran.stdout).toMatch(new RegExp(`^1 +${name} +${generation}$`, 'm'));
    expect(ran.stdout).not.toContain('invariants hold');
    expect(withoutProgress(ran.stderr)).toMatch(
      /^1 of \d+ invariants are violated: see "An invariant is violated" in OPERATIONS\.md\.\n$/,
    );
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: false,
      invariants: expect.arrayContaining([{ name, violations: 1, examples: [generation] }]) as unknown[],
    });
    expect((await darkroom('doctor')).code).toBe(0);
  });

  it.each([
    ['changed', 'another f', 'changed'],
    ['cut short', 'a fil', 'changed'],
    ['another of the same length', 'a filn', 'changed'],
    ['gone', null, 'gone'],
  ])('a stored file that is %s is a violation', async (_how, content, problem) => {
    const path = join(folder, generation, '0-1');
    await (content === null ? rm(path) : writeFile(path, content));
    const { code, stdout } = await darkroom('doctor');
    await writeFile(path, 'a film');
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`^1 +${FILES} +${generation}/0-1 \\(${problem}\\)$`, 'm'));
    expect((await darkroom('doctor')).code).toBe(0);
  });

  it('a path that the storage refuses stops none of the others', async () => {
    const of = `UPDATE output SET path = '%' WHERE generation_id = '${generation}'`;
    const { ran } = await violated(of.replace('%', '../etc/passwd'), of.replace('%', `${generation}/0-1`));
    expect(ran.code).toBe(1);
    expect(ran.stdout).toMatch(
      new RegExp(`^1 +${FILES} +\\.\\./etc/passwd \\(storage path is not .*\\)$`, 'm'),
    );
  });
});
