import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { AppDependencies } from '../../src/api/app.ts';
import { openDb, type Db } from '../../src/db/index.ts';
import { violations } from '../db/database.ts';
import { createTestDatabase } from '../support/stack.ts';
import { startApi, type TestApi } from './api.ts';
import type { Answer } from './client.ts';
import { newOperator } from './tenants.ts';

export interface ApiSuite {
  readonly db: Db;
  readonly api: TestApi;
  readonly operator: { readonly key: string; readonly actor: string };
}

/** The API on a database of one test file, with an operator; the invariants are checked after each of its tests. */
export function useApi(options: Partial<AppDependencies> = {}): ApiSuite {
  let opened: (ApiSuite & { drop(): Promise<void> }) | undefined;
  const need = () => {
    if (opened === undefined) throw new Error('The API runs only while tests run.');
    return opened;
  };
  beforeAll(async () => {
    const database = await createTestDatabase();
    const db = openDb(database.url, { poolSize: 20, connectWithinMs: 60_000 });
    const [api, operator] = await Promise.all([startApi(db, options), newOperator(db)]);
    opened = { db, api, operator, drop: () => database.drop() };
  });
  afterEach(async () => {
    expect(await violations(need().db)).toEqual({});
  });
  afterAll(async () => {
    if (opened === undefined) return;
    await opened.api.close();
    await opened.db.close();
    await opened.drop();
  });
  return {
    get db() {
      return need().db;
    },
    get api() {
      return need().api;
    },
    get operator() {
      return need().operator;
    },
  };
}

/** Status and code of a problem, in either shape. */
export function codeOf(answer: Answer): [number, unknown] {
  const { code, error } = answer.json() as { code?: string; error?: { code: string } };
  return [answer.status, code ?? error?.code];
}

/** The pointers of all wrong fields that a problem names. */
export function pathsOf(answer: Answer): string[] {
  const { errors = [] } = answer.json() as { errors?: { path: string }[] };
  return errors.map(({ path }) => path);
}
