import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { migrate } from '../db/migrate.ts';
import { connectTemporal } from '../temporal/client.ts';
import { registerSearchAttributes } from '../temporal/register.ts';
import { realDataDir } from './postgres-binaries.ts';
import { startPostgres } from './postgres.ts';
import type { StackInput } from './stack.ts';
import { resolveTemporal } from './temporal-binary.ts';
import { startTemporal } from './temporal.ts';

const PREFERRED = { postgres: 54_329, temporal: 7233, temporalUi: 8233 };

/** The database of DATABASE_URL, or an embedded one in the data folder; migrated. @returns its URL */
export async function openDatabase(input: StackInput): Promise<string> {
  const given = input.env['DATABASE_URL'] ?? '';
  const url = given === '' ? await embeddedPostgres(input) : given;
  const { applied } = await migrate(url).catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    const wayOut = given === '' ? '' : ' Correct DATABASE_URL, or unset it: then a database is started here.';
    throw new Error(`The database can't be used: ${message}.${wayOut}`.replace('..', '.'), { cause: error });
  });
  if (applied.length > 0) input.say(`migrated the database (${applied.length} migrations)`);
  return url;
}

async function embeddedPostgres({ dataDir, say, parts }: StackInput): Promise<string> {
  say('starting PostgreSQL');
  const logFile = join(dataDir, 'logs', 'postgres.log');
  const folder = join(dataDir, 'postgres');
  const real = realDataDir(folder);
  if (real !== resolve(folder)) {
    say(`its data is in ${real}: PostgreSQL does not run as root, and no other user can enter ${dataDir}`);
  }
  const postgres = await startPostgres({ dataDir: folder, port: PREFERRED.postgres, logFile });
  parts.add(() => postgres.stop());
  parts.watch('PostgreSQL', postgres.ended, logFile);
  return postgres.url;
}

/** The server of TEMPORAL_ADDRESS, or a development server in the data folder. */
export async function openTemporal(
  input: StackInput,
): Promise<{ readonly address: string; readonly uiUrl: string | null }> {
  const { dataDir, env, say, parts } = input;
  const source = await resolveTemporal(env, say);
  if (source.kind === 'address') {
    await registerAt(source.address);
    return { address: source.address, uiUrl: null };
  }
  say('starting Temporal');
  const logFile = join(dataDir, 'logs', 'temporal.log');
  const temporal = await startTemporal({
    binary: source.path,
    dataDir: join(dataDir, 'temporal'),
    port: PREFERRED.temporal,
    uiPort: PREFERRED.temporalUi,
    logFile,
  });
  parts.add(() => temporal.stop());
  parts.watch('Temporal', temporal.ended, logFile);
  return temporal;
}

/** The server of TEMPORAL_ADDRESS needs our search attributes; asking for them also proves that it answers. */
async function registerAt(address: string): Promise<void> {
  const temporal = connectTemporal();
  try {
    await registerSearchAttributes(temporal.client);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(
      `The Temporal server ${address} can't be used: ${message}. Correct TEMPORAL_ADDRESS, or unset it: then a server is started here.`,
      { cause: error },
    );
  } finally {
    await temporal.close();
  }
}

/** A profile or TLS setting of this user is for another server than the one that we start. */
export function withoutTemporal(env: NodeJS.ProcessEnv, isOurs: boolean, dataDir: string): NodeJS.ProcessEnv {
  if (!isOurs) return env;
  const noProfile = join(dataDir, 'temporal.toml');
  writeFileSync(noProfile, '[profile.default]\n');
  const others = Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_'));
  return { ...Object.fromEntries(others), TEMPORAL_CONFIG_FILE: noProfile };
}
