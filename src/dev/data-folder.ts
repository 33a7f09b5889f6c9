import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { takeLock } from '../../scripts/process-lock.mjs';
import { temporaryFolder } from './keeper.ts';
import { removePostgresData } from './postgres.ts';

export interface DataFolder {
  readonly path: string;
  /** Another `npm start` has the checkout's own folder; this one is temporary. */
  readonly besides?: { readonly pid: number; readonly apiUrl?: string };
  release(): Promise<void>;
}

const RUNNING = 'running.json';
const SECRETS = 'secrets.json';
const KEPT_BY_FRESH = new Set(['start.lock', 'prepare.lock']);

/**
 * The data folder of `npm start`: `home` (`.darkroom`) unless another run has it, then a temporary one that ends with
 * this process.
 * @param fresh true = whatever an earlier run left in `home` is removed
 */
export async function openDataFolder(home: string, fresh: boolean): Promise<DataFolder> {
  mkdirSync(home, { recursive: true, mode: 0o755 });
  const lock = takeLock(join(home, 'start.lock'));
  if (!lock.taken) {
    const folder = temporaryFolder('run');
    const apiUrl = runningApiUrl(home);
    return {
      path: folder.path,
      besides: { pid: lock.pid, ...(apiUrl === undefined ? {} : { apiUrl }) },
      release: () => folder.remove(),
    };
  }
  // Without its secrets nothing of it can be read again: it is what an interrupted first start left.
  if (fresh || !existsSync(join(home, SECRETS))) await removeAll(home);
  return {
    path: home,
    async release() {
      rmSync(join(home, RUNNING), { force: true });
      lock.release();
    },
  };
}

async function removeAll(home: string): Promise<void> {
  await removePostgresData(join(home, 'postgres'));
  for (const name of readdirSync(home).filter((entry) => !KEPT_BY_FRESH.has(entry))) {
    rmSync(join(home, name), { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Tells a second `npm start` where this one is to be reached, and `npx darkroom` the settings it runs with. */
export function noteRunning(
  folder: DataFolder,
  running: { readonly pid: number; readonly apiUrl: string; readonly env: Readonly<Record<string, string>> },
): void {
  writeFileSync(join(folder.path, RUNNING), JSON.stringify(running), { mode: 0o600 });
}

function runningApiUrl(home: string): string | undefined {
  const found = readJson(join(home, RUNNING)) as { apiUrl?: string } | undefined;
  return found?.apiUrl;
}

/** A JSON file of ours; undefined when it is missing or half written. */
export function readJson(path: string): unknown {
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/** What a simulator accepts and signs with. */
export interface SimulatorSecrets {
  readonly apiKey: string;
  readonly webhookSecret: string;
}

export interface Secrets {
  /** As KEYRING takes it. */
  readonly keyring: string;
  /** By the name of the provider. */
  readonly simulators: Readonly<Record<string, SimulatorSecrets>>;
}

/** The random secrets of a data folder for these providers, made on first use, readable by this user only. */
export function folderSecrets(folder: string, providers: readonly string[]): Secrets {
  const path = join(folder, SECRETS);
  const found = readJson(path) as Partial<Secrets> | undefined;
  const secrets = {
    keyring: found?.keyring ?? `dev:${randomBytes(32).toString('base64')}`,
    simulators: Object.fromEntries(
      providers.map((name) => [name, found?.simulators?.[name] ?? newSimulatorSecrets()]),
    ),
  };
  writeFileSync(path, JSON.stringify(secrets), { mode: 0o600 });
  return secrets;
}

function newSimulatorSecrets(): SimulatorSecrets {
  return {
    apiKey: `sim_${randomBytes(16).toString('hex')}`,
    // As Standard Webhooks writes them: base64 behind the prefix.
    webhookSecret: `whsec_${randomBytes(32).toString('base64')}`,
  };
}
