import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { type SchemaFile, withSchemaEngine } from './schema-engine.ts';

/** The folder with schema.prisma and migrations/, beside src/ and dist/. */
const PRISMA_FOLDER = fileURLToPath(new URL('../../prisma/', import.meta.url));
const NO_FILTERS = { externalTables: [], externalEnums: [] };
/** Any constant of our own: two processes that start at once migrate one after the other. */
const ADVISORY_LOCK = '7236894102';

export interface MigrateOptions {
  /** Another folder with schema.prisma and migrations/; by default the one of this checkout. */
  readonly folder?: string;
}

async function readSchema(folder: string): Promise<SchemaFile> {
  const path = join(folder, 'schema.prisma');
  return { path, content: await readFile(path, 'utf8') };
}

/** The migrations on disk, oldest first, in the form the engine takes. */
async function readMigrations(folder: string) {
  const baseDir = resolve(folder, 'migrations');
  const entries = existsSync(baseDir) ? await readdir(baseDir, { withFileTypes: true }) : [];
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  if (names.length === 0) throw new Error(`There are no migrations in ${baseDir}.`);
  const lock = join(baseDir, 'migration_lock.toml');
  return {
    baseDir,
    lockfile: {
      path: 'migration_lock.toml',
      content: existsSync(lock) ? await readFile(lock, 'utf8') : 'provider = "postgresql"\n',
    },
    shadowDbInitScript: '',
    migrationDirectories: await Promise.all(
      names.sort().map(async (path) => ({
        path,
        migrationFile: {
          path: 'migration.sql',
          content: {
            tag: 'ok' as const,
            value: await readFile(join(baseDir, path, 'migration.sql'), 'utf8'),
          },
        },
      })),
    ),
  };
}

/** Runs `use` while no other process migrates this database. */
async function alone<T>(databaseUrl: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 10_000 });
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(`SET lock_timeout = '60s'`);
    await client.query(`SELECT pg_advisory_lock(${ADVISORY_LOCK})`).catch((error: unknown) => {
      throw new Error(
        'Another process has been migrating this database for a minute: wait for it, then try again.',
        {
          cause: error,
        },
      );
    });
    return await use(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Applies the migrations of prisma/migrations that are missing, recorded in `_prisma_migrations` just as
 * `prisma migrate deploy` does, without its native engine. Each migration is one transaction.
 * @param databaseUrl a direct connection (no transaction pooler): a session lock is held meanwhile
 * @returns the names of the migrations that were applied now, oldest first
 * @throws Error that names the migration when one fails or was edited after it was applied
 */
export async function migrate(
  databaseUrl: string,
  options: MigrateOptions = {},
): Promise<{ readonly applied: readonly string[] }> {
  const folder = options.folder ?? PRISMA_FOLDER;
  const [schema, migrationsList] = await Promise.all([readSchema(folder), readMigrations(folder)]);
  const input = { migrationsList, filters: NO_FILTERS };
  return alone(databaseUrl, async (client) => {
    try {
      return await withSchemaEngine(databaseUrl, schema, async (engine) => {
        const found = await engine.diagnoseMigrationHistory({ ...input, optInToShadowDatabase: false });
        const failed = new Set(found.failedMigrationNames);
        refuseEdited(found.editedMigrationNames.filter((name) => !failed.has(name)));
        for (const name of failed) {
          refuseHalf(name, migrationsList);
          await engine.markMigrationRolledBack({ migrationName: name });
        }
        if (found.history?.diagnostic === 'migrationsDirectoryIsBehind') return { applied: [] };
        return { applied: (await engine.applyMigrations(input)).appliedMigrationNames };
      });
    } catch (error) {
      if (error instanceof pg.DatabaseError) throw await failedMigration(client, error);
      throw error;
    }
  });
}

function refuseEdited(names: readonly string[]): void {
  if (names.length === 0) return;
  throw new Error(
    `Migration ${names.join(', ')} was edited after it was applied to this database. ` +
      'Restore the file from version control and put the change into a new migration (or start from an empty database).',
  );
}

/**
 * A migration that failed, or whose process was killed, left nothing, because it runs in one transaction: it is tried
 * again. Only one that leaves that transaction can have been applied in part.
 */
function refuseHalf(
  name: string,
  { migrationDirectories }: Awaited<ReturnType<typeof readMigrations>>,
): void {
  const sql = migrationDirectories.find(({ path }) => path === name)?.migrationFile.content.value ?? '';
  if (!/\bCONCURRENTLY\b|^\s*(BEGIN|COMMIT|START TRANSACTION)\s*;/im.test(sql)) return;
  throw new Error(
    `Migration ${name} failed earlier and may have been applied in part. Repair the database by hand, ` +
      `set "rolled_back_at" of its row in "_prisma_migrations", then migrate again.`,
  );
}

/** The failed migration is recorded by the engine; the server's message and place come from its error. */
async function failedMigration(client: pg.Client, error: pg.DatabaseError): Promise<Error> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT migration_name AS name FROM _prisma_migrations
     WHERE finished_at IS NULL AND rolled_back_at IS NULL ORDER BY started_at DESC LIMIT 1`,
  );
  const where = error.position === undefined ? '' : ` at character ${error.position}`;
  return new Error(
    `Migration ${rows[0]?.name ?? ''} failed${where}: ${error.message}. Nothing of it was kept.`,
    {
      cause: error,
    },
  );
}

/**
 * What schema.prisma says differently from a migrated database, as SQL; empty when they agree. CHECKs, partial indexes,
 * triggers and functions are not part of a Prisma schema and are not compared.
 */
export async function schemaDrift(databaseUrl: string, options: MigrateOptions = {}): Promise<string> {
  const folder = options.folder ?? PRISMA_FOLDER;
  const schema = await readSchema(folder);
  const { stdout } = await withSchemaEngine(databaseUrl, schema, (engine) =>
    engine.diff({
      from: { tag: 'schemaDatasource', files: [schema], configDir: folder },
      to: { tag: 'schemaDatamodel', files: [schema] },
      script: true,
      exitCode: null,
      filters: NO_FILTERS,
    }),
  );
  const script = (stdout ?? '').trim();
  return script === '-- This is an empty migration.' ? '' : script;
}
