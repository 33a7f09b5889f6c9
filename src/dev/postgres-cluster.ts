import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { commandLine, processIdentity } from '../../scripts/process-lock.mjs';
import { waitUntil } from './child.ts';
import type { PostgresBinaries, PostgresUser } from './postgres-binaries.ts';

const MAJOR = '18';
const PASSWORD_FILE = 'darkroom.password';

const CONFIG = `
# Darkroom: this server is for this machine only.
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
timezone = 'UTC'
log_timezone = 'UTC'
max_connections = 300
`;

/**
 * Makes a cluster in `dataDir`, or does nothing when there is one. It is built beside it and moved, so that an
 * interrupted run leaves nothing half.
 * @throws Error when initdb fails (with its output), or when the folder was made by another major version
 */
export async function ensureCluster(
  dataDir: string,
  programs: PostgresBinaries,
  user: PostgresUser | undefined,
  forTests: boolean,
): Promise<void> {
  if (existsSync(join(dataDir, 'PG_VERSION'))) {
    const major = (await readFile(join(dataDir, 'PG_VERSION'), 'utf8')).trim();
    if (major === MAJOR) return;
    throw new Error(
      `${dataDir} was made by PostgreSQL ${major}, this is ${MAJOR}. Start from nothing with "npm start -- --fresh".`,
    );
  }
  const draft = `${dataDir}.new`;
  const passwordFile = `${dataDir}.new.password`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true, mode: 0o700 });
  await writeFile(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600 });
  if (user !== undefined) for (const path of [draft, passwordFile]) await chown(path, user.uid, user.gid);
  const args = [
    `--pgdata=${draft}`,
    '--username=postgres',
    '--auth=scram-sha-256',
    `--pwfile=${passwordFile}`,
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    ...(forTests ? ['--no-sync'] : []),
  ];
  try {
    await promisify(execFile)(programs.initdb, args, {
      ...user,
      cwd: draft,
      env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
      timeout: 180_000,
    });
  } catch (error) {
    const output = (error as { stderr?: string }).stderr?.trim();
    throw new Error(`PostgreSQL could not make its data folder ${dataDir}: ${output ?? String(error)}`, {
      cause: error,
    });
  }
  await appendFile(join(draft, 'postgresql.conf'), CONFIG);
  await rename(passwordFile, join(draft, PASSWORD_FILE));
  await rm(dataDir, { recursive: true, force: true });
  await mkdir(dirname(dataDir), { recursive: true });
  await rename(draft, dataDir);
}

/** The password of the user `postgres`, made at random with the cluster. */
export async function clusterPassword(dataDir: string): Promise<string> {
  return (await readFile(join(dataDir, PASSWORD_FILE), 'utf8')).trim();
}

/**
 * Clears what an unclean stop left in a data folder whose lock we hold: an orphan server of that folder is stopped, a
 * pid file whose pid now belongs to some other program is removed. Any other case is left to PostgreSQL's own check.
 */
export async function clearLeftover(dataDir: string): Promise<void> {
  const pidFile = join(dataDir, 'postmaster.pid');
  const pid = Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0]);
  const identity = processIdentity(pid);
  if (identity === null) return;
  const command = commandLine(pid);
  if (command === null) return;
  if (!command.includes(dataDir) || !command.includes('postgres')) {
    await rm(pidFile, { force: true });
    return;
  }
  const isGone = async () => processIdentity(pid) !== identity;
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    process.kill(pid, signal);
    if (await waitUntil(isGone, { timeoutMs: 5_000 })) return;
  }
  throw new Error(`An earlier PostgreSQL (pid ${pid}) of ${dataDir} does not stop: end it by hand.`);
}
