import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import {
  bindMigrationAwareSqlAdapterFactory,
  ColumnTypeEnum,
  type SqlDriverAdapter,
} from '@prisma/driver-adapter-utils';
import * as engine from '@prisma/schema-engine-wasm/schema_engine_bg';

/** The columns of type "char" in the engine's catalogue queries. */
const CHAR_COLUMNS = new Set(['constraint_type', 'confdeltype', 'confupdtype']);
const ENGINE_MODULE = '@prisma/schema-engine-wasm/schema_engine_bg';
let loading: Promise<void> | undefined;

/** The part of the platform's WebAssembly that is used here; Node's types leave it to the DOM library. */
interface Wasm {
  compile(bytes: Uint8Array): Promise<object>;
  instantiate(
    module: object,
    imports: object,
  ): Promise<{ readonly exports: Readonly<Record<string, unknown>> }>;
}

/** Loads Prisma's schema engine, compiled to WebAssembly, once a process; so no native engine is downloaded. */
async function load(): Promise<void> {
  const host = globalThis as unknown as { WebAssembly: Wasm; PRISMA_WASM_PANIC_REGISTRY?: object };
  host.PRISMA_WASM_PANIC_REGISTRY ??= {
    set_message(message: string) {
      throw new Error(`Prisma's schema engine failed: ${message}`);
    },
  };
  const folder = dirname(createRequire(import.meta.url).resolve(ENGINE_MODULE));
  const module = await host.WebAssembly.compile(await readFile(join(folder, 'schema_engine_bg.wasm')));
  const { exports } = await host.WebAssembly.instantiate(module, { './schema_engine_bg.js': imports() });
  engine.__wbg_set_wasm(exports);
  (exports['__wbindgen_start'] as () => void)();
}

/** The engine leaves its lock timeout of 10 s running, which must not keep a finished process alive. */
function imports(): object {
  const timers = Object.keys(engine).filter((name) => name.startsWith('__wbg_setTimeout_'));
  const unref = (callback: () => void, ms: number) => setTimeout(callback, ms).unref();
  return { ...engine, ...Object.fromEntries(timers.map((name) => [name, unref])) };
}

/**
 * Two gaps of the adapter. It splits a script at every semicolon, also within function bodies, strings and comments,
 * while the server takes a whole script in one transaction. And it can't read PostgreSQL's one-byte type "char".
 */
function mend(
  adapter: SqlDriverAdapter,
  pool: { query(sql: string): Promise<unknown> },
  onScriptError: (error: unknown) => void,
): SqlDriverAdapter {
  const queryRaw = adapter.queryRaw.bind(adapter);
  adapter.executeScript = async (script) => {
    try {
      await pool.query(script);
    } catch (error) {
      onScriptError(error);
      throw error;
    }
  };
  adapter.queryRaw = async (query) => {
    const sql = query.sql
      .replace('constr.contype AS', 'constr.contype::text AS')
      .replace(/\bcon\.(confdeltype|confupdtype),/g, 'con.$1::text AS $1,');
    const result = await queryRaw({ ...query, sql });
    if (sql === query.sql) return result;
    const columnTypes = result.columnNames.map((name, i) =>
      CHAR_COLUMNS.has(name) ? ColumnTypeEnum.Character : result.columnTypes[i]!,
    );
    return { ...result, columnTypes };
  };
  return adapter;
}

/** One schema file, as the engine takes it. */
export interface SchemaFile {
  readonly path: string;
  readonly content: string;
}

/**
 * Runs `use` with a schema engine on the given database; its connections are closed afterwards.
 * @throws what the engine throws; when a script failed, the server's own error, which the engine hides
 */
export async function withSchemaEngine<T>(
  databaseUrl: string,
  schema: SchemaFile,
  use: (engine: engine.SchemaEngine) => Promise<T>,
): Promise<T> {
  await (loading ??= load());
  const factory = new PrismaPg({
    connectionString: databaseUrl,
    options: '-c TimeZone=UTC',
    connectionTimeoutMillis: 10_000,
    max: 2,
    application_name: 'darkroom-migrate',
  });
  const opened: SqlDriverAdapter[] = [];
  let scriptError: unknown;
  const connect = async () => {
    const adapter = await factory.connect();
    opened.push(adapter);
    return mend(adapter, adapter.underlyingDriver(), (error) => {
      scriptError = error;
    });
  };
  const bound = bindMigrationAwareSqlAdapterFactory({
    provider: factory.provider,
    adapterName: factory.adapterName,
    connect,
    connectToShadowDb: () => factory.connectToShadowDb(),
  });
  try {
    const options = { datamodels: [[schema.path, schema.content] as [string, string]] };
    return await use(await engine.SchemaEngine.new(options, () => {}, bound));
  } catch (error) {
    throw scriptError ?? error;
  } finally {
    for (const adapter of opened) await adapter.dispose().catch(() => {});
  }
}
