import { openDb } from '../db/index.ts';
import type { Db } from '../db/index.ts';
import { createStorage } from '../storage/index.ts';
import type { Storage } from '../storage/index.ts';
import { connectTemporal } from '../temporal/client.ts';
import { createDataConverter } from '../temporal/data-converter.ts';
import type { TemporalDeps } from '../temporal/ensure-running.ts';
import { createRunUrl } from '../temporal/run-url.ts';
import { toolConfig } from './environment.ts';

/** What a command acts on; everything is opened on first use and closed after the command. */
export interface CliContext {
  readonly databaseUrl: string;
  readonly db: Db;
  readonly storage: Storage;
  readonly temporal: TemporalDeps;
  /** Where a generation's run is seen in the Temporal UI; null = TEMPORAL_UI_URL is not set. */
  readonly runUrl: (generationId: string) => string | null;
}

/**
 * Runs one command and closes what it opened, also when it fails.
 * @param limits statementLimitMs for a command that reads whole tables
 */
export async function withContext<T>(
  run: (ctx: CliContext) => Promise<T>,
  limits: { readonly statementLimitMs?: number } = {},
): Promise<T> {
  const config = toolConfig();
  const db = openDb(config.databaseUrl, { poolSize: 2, ...limits });
  const temporal = connectTemporal(
    createDataConverter(config.codecKeys, (problem) => process.stderr.write(`${problem}\n`)),
  );
  const onDegraded = () => process.stderr.write('search attributes are missing: run "darkroom migrate"\n');
  try {
    return await run({
      databaseUrl: config.databaseUrl,
      db,
      storage: createStorage(config.storageUrl),
      temporal: { client: temporal.client, onDegraded },
      runUrl: createRunUrl(config.temporalUiUrl, temporal.client.options.namespace),
    });
  } finally {
    await Promise.allSettled([db.close(), temporal.close()]);
  }
}

/** A value as people read it, or as one JSON line for programs. */
export function show(value: unknown, json: boolean, text: () => string): void {
  process.stdout.write(json ? `${JSON.stringify(value)}\n` : `${text()}\n`);
}

/** Columns padded to their widest cell; those named by their place in `right` end flush, as figures do. */
export function table(rows: readonly (readonly string[])[], right: readonly number[] = []): string {
  const widths = rows.reduce<number[]>(
    (max, row) => row.map((cell, i) => Math.max(max[i] ?? 0, cell.length)),
    [],
  );
  return rows
    .map((row) =>
      row
        .map((cell, i) => {
          const width = widths[i] ?? 0;
          return right.includes(i) ? cell.padStart(width) : cell.padEnd(width);
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
