import { Counter, Gauge, Registry } from 'prom-client';

/** What this process has tidied up. */
export const housekeepingMetrics = new Registry();

const registers = [housekeepingMetrics];
const removed = new Counter({
  name: 'darkroom_files_removed_total',
  help: 'Files removed from the storage: outputs and inputs whose time was over or that were deleted, and files without a row (orphan).',
  labelNames: ['kind'],
  registers,
});
const waiting = new Gauge({
  name: 'darkroom_file_removals_waiting',
  help: 'Files that are marked for removal and still there, by the last look of this process; growing means that they cannot be removed.',
  registers,
});
const pruned = new Counter({
  name: 'darkroom_pruned_rows_total',
  help: 'Rows of old history that were removed, by table; a webhook_event goes with its deliveries and attempts.',
  labelNames: ['table'],
  registers,
});

export type RemovedKind = 'output' | 'input' | 'orphan';
export type PrunedTable = 'callback' | 'generation_event' | 'webhook_event';

/** Counts files that are gone from the storage. */
export function countRemovedFiles(kind: RemovedKind, files: number): void {
  removed.inc({ kind }, files);
}

/** Shows how many files wait to be removed. */
export function showWaitingRemovals(files: number): void {
  waiting.set(files);
}

/** Counts rows of old history that are gone. */
export function countPrunedRows(table: PrunedTable, rows: number): void {
  pruned.inc({ table }, rows);
}

// A counter that appears with its first event shows no increase.
for (const kind of ['output', 'input', 'orphan'] satisfies RemovedKind[]) countRemovedFiles(kind, 0);
for (const table of ['callback', 'generation_event', 'webhook_event'] satisfies PrunedTable[])
  countPrunedRows(table, 0);
