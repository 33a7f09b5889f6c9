import { execFile } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SUBMITS_PER_SECOND } from './bare-queues.ts';
import type { BenchOptions } from './options.ts';
import type { BenchStack } from './stack.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ASKED = ['fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers', 'wal_sync_method'];

/** What the figures were measured on. */
export async function describeMachine({ db, client }: BenchStack) {
  const processors = cpus();
  const [row] = await db.prisma.$queryRaw<
    { version: string }[]
  >`SELECT current_setting('server_version') AS version`;
  const { serverVersion } = await client.workflowService.getSystemInfo({});
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: await commit(),
    cpus: processors.length,
    model: processors[0]?.model.trim() ?? 'unknown',
    memory: `${(totalmem() / 1_073_741_824).toFixed(1)} GiB`,
    node: process.version,
    postgres: row?.version ?? 'unknown',
    temporal: serverVersion ?? 'unknown',
  };
}

/** As PostgreSQL itself tells them, and whether Temporal's store is on the disk. */
export async function describeSettings({ db, temporalFolder }: BenchStack, options: BenchOptions) {
  const rows = await db.prisma.$queryRaw<{ name: string; setting: string }[]>`
    SELECT name, setting FROM pg_settings WHERE name = ANY(${ASKED})`;
  const store = readdirSync(temporalFolder).filter((name) => name.startsWith('temporal.sqlite'));
  const bytes = store.reduce((sum, name) => sum + statSync(join(temporalFolder, name)).size, 0);
  return {
    postgres: Object.fromEntries(rows.map(({ name, setting }) => [name, setting])),
    temporal_store: bytes > 0 ? 'file (SQLite, WAL, synchronous=normal)' : 'none',
    submits_per_second: `${SUBMITS_PER_SECOND} for both`,
    render_ms: options.renderMs,
    ...options.size,
  };
}

async function commit(): Promise<string> {
  const git = (...args: string[]) => promisify(execFile)('git', args, { cwd: ROOT });
  try {
    const { stdout } = await git('rev-parse', '--short', 'HEAD');
    const changed = await git('status', '--porcelain', '--untracked-files=no');
    return `${stdout.trim()}${changed.stdout === '' ? '' : ' with changes'}`;
  } catch {
    return 'unknown';
  }
}
