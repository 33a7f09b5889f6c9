import { join } from 'node:path';
import pg from 'pg';
import { checkInvariants, openDb, settle } from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import { migrate } from '../../src/db/migrate.ts';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { startPostgres } from '../../src/dev/postgres.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { create, accept, observe, receive, send, store } from '../db/fixtures.ts';
import { seedRows } from './seed-rows.ts';
import { findPlace, PROBES, runProbe, type Place } from './table-probes.ts';

/** Milliseconds. */
export interface Spread {
  readonly p50: number;
  readonly p95: number;
}

/** How long each kind of operation took at so many finished generations; of a kind with several, the slowest one. */
export interface TableRow {
  readonly rows: number;
  readonly list_ms: Spread;
  readonly sweep_ms: Spread;
  readonly settle_ms: Spread;
  /** The whole check; it reads all there is. */
  readonly doctor_ms: Spread;
  readonly recent_doctor_ms: Spread;
  readonly create_ms: Spread;
  readonly get_ms: Spread;
  /** Over twenty minutes. */
  readonly report_ms: Spread;
  readonly housekeeping_ms: Spread;
  readonly find_ms: Spread;
  /** An account's balance and entries. */
  readonly account_ms: Spread;
  /** The tenant's list of webhook deliveries. */
  readonly deliveries_ms: Spread;
  /** The operators' list of callbacks. */
  readonly inbox_ms: Spread;
  /** A claim of webhook deliveries. */
  readonly deliver_ms: Spread;
  readonly gauges_ms: Spread;
  /** All database calls of one generation between create and settle. */
  readonly way_ms: Spread;
  readonly seed_seconds: number;
}

export interface TableReport {
  readonly rows: readonly TableRow[];
  /** Each single operation: its name, then p50 and p95 at each size. */
  readonly probes: Readonly<Record<string, readonly Spread[]>>;
}

export interface TableOptions {
  /** Finished generations, ascending. */
  readonly sizes: readonly number[];
  readonly rounds: number;
  /** Told of each step, for a person who waits. */
  readonly onProgress?: (text: string) => void;
  /** A running server instead of one of its own; its database is filled. It must be empty, and its user a superuser. */
  readonly databaseUrl?: string;
}

function spread(samples: readonly number[]): Spread {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (part: number) => Math.round((sorted[Math.ceil(sorted.length * part) - 1] ?? 0) * 10) / 10;
  return { p50: at(0.5), p95: at(0.95) };
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await run();
  return performance.now() - from;
}

/** One generation from its creation to its end, by its database calls. */
export async function runWay(
  db: Db,
  place: Pick<Place, 'tenants'>,
  around: (part: 'create' | 'way' | 'settle', run: () => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const tenant = { id: place.tenants[0]!, accountId: '' };
  let id = '';
  await around('create', async () => {
    id = await create(db, tenant);
  });
  await around('way', async () => {
    await send(db, id);
    await accept(db, id);
    await receive(db, { submissionId: submissionId(id, 1), jobId: `job-${id}`, terminal: true });
    await observe(db, id, 'succeeded');
    await store(db, id);
  });
  await around('settle', () => settle(db, id, { state: 'succeeded', errorCode: null }));
}

/** Grows one database from size to size and measures what Darkroom does with its tables at each. */
export async function measureTables(options: TableOptions): Promise<TableReport> {
  const folder = temporaryFolder('tables');
  const postgres =
    options.databaseUrl === undefined
      ? await startPostgres({ dataDir: join(folder.path, 'postgres'), database: 'tables' })
      : null;
  const url = options.databaseUrl ?? postgres!.url;
  const client = new pg.Client({ connectionString: url, options: '-c TimeZone=UTC' });
  // As `darkroom doctor` has it.
  const db = openDb(url, { poolSize: 2, statementLimitMs: 3_600_000 });
  try {
    await migrate(url);
    await client.connect();
    return await measure(db, client, options);
  } finally {
    await db.close();
    await client.end();
    await postgres?.stop('immediate');
    await folder.remove();
  }
}

async function measure(db: Db, client: pg.Client, options: TableOptions): Promise<TableReport> {
  const tell = options.onProgress ?? (() => {});
  const base = new Date();
  const rows: TableRow[] = [];
  const probes: Record<string, Spread[]> = {};
  let from = 0;
  for (const to of options.sizes) {
    tell(`filling to ${to} generations`);
    const startedMs = performance.now();
    const seeded = await seedRows(client, { from, to, base });
    const seedSeconds = Math.round((performance.now() - startedMs) / 1000);
    from = to;
    const place = await findPlace(db, seeded, base, to);
    const samples = new Map<string, number[]>();
    const add = (name: string, ms: number) => samples.set(name, [...(samples.get(name) ?? []), ms]);
    tell(`measuring at ${to}`);
    // The first round only fills caches, of the server and of its sessions.
    for (let round = 0; round <= options.rounds; round += 1) {
      const take = (name: string, ms: number) => round > 0 && add(name, ms);
      for (const probe of PROBES)
        await runProbe(db, probe, place, async (_inner, run) => void take(probe.name, await timed(run)));
      await runWay(db, place, async (part, run) => void take(part, await timed(run)));
    }
    tell(`doctor at ${to}`);
    add('doctor', await timed(() => checkInvariants(db)));
    const of = (name: string) => spread(samples.get(name) ?? []);
    const worst = (column: string) =>
      PROBES.filter((probe) => probe.column === column)
        .map(({ name }) => of(name))
        .reduce((a, b) => (b.p50 > a.p50 ? b : a));
    for (const name of samples.keys()) (probes[name] ??= []).push(of(name));
    rows.push({
      rows: to,
      list_ms: worst('list'),
      sweep_ms: worst('sweep'),
      settle_ms: of('settle'),
      doctor_ms: of('doctor'),
      recent_doctor_ms: worst('recent_doctor'),
      create_ms: of('create'),
      get_ms: worst('get'),
      report_ms: worst('report'),
      housekeeping_ms: worst('housekeeping'),
      find_ms: worst('find'),
      account_ms: worst('account'),
      deliveries_ms: worst('deliveries'),
      inbox_ms: worst('inbox'),
      deliver_ms: worst('deliver'),
      gauges_ms: worst('gauges'),
      way_ms: of('way'),
      seed_seconds: seedSeconds,
    });
  }
  return { rows, probes };
}
