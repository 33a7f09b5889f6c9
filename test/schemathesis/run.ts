import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endWatch, keepWatch } from '../../src/dev/keeper.ts';
import type { Parts } from '../../src/dev/parts.ts';
import type { FuzzOptions } from './options.ts';

/** Above the 15 s that a file named by its URL may take, and above the longest `Prefer: wait`. */
const REQUEST_SECONDS = '90';

const CONFIG = fileURLToPath(new URL('./schemathesis.toml', import.meta.url));
const HOOKS = fileURLToPath(new URL('./hooks.py', import.meta.url));

/** As it heads their results; one that it never came to would else pass. */
const PHASES = ['Examples', 'Coverage', 'Fuzzing', 'Stateful'];

/** Who calls, and which paths. */
export interface Caller {
  readonly name: string;
  readonly key: string;
  /** A regular expression. */
  readonly paths: string;
}

interface Run {
  readonly program: string;
  readonly apiUrl: string;
  /** Reports go into its `report`. */
  readonly folder: string;
  readonly given: FuzzOptions;
  readonly parts: Parts;
}

/** One run of schemathesis, whose output goes to ours. @returns whether every phase ran and nothing failed */
export async function runSchemathesis(caller: Caller, run: Run): Promise<boolean> {
  const { program, folder, parts } = run;
  const child = spawn(program, argumentsOf(caller, run), {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1', SCHEMATHESIS_HOOKS: HOOKS },
    stdio: ['ignore', 'pipe', 'inherit'],
    windowsHide: true,
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    process.stdout.write(chunk);
  });
  child.once('spawn', () => keepWatch(child.pid!, 'SIGKILL'));
  const ended = new Promise<boolean>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      const missing = PHASES.filter((phase) => !output.includes(`✅  ${phase} (in`));
      if (missing.length > 0)
        process.stderr.write(`${caller.name}: not run, or failed: ${missing.join(', ')}\n`);
      resolve(code === 0 && missing.length === 0);
    });
  });
  parts.add(() => {
    child.kill('SIGINT');
    return ended;
  });
  return ended.finally(() => endWatch(child.pid ?? 0));
}

/** All checks are on unless one is left out, which none is. */
function argumentsOf({ name, key, paths }: Caller, { apiUrl, folder, given }: Run): string[] {
  const options = {
    header: `Authorization: Bearer ${key}`,
    'include-path-regex': paths,
    phases: 'examples,coverage,fuzzing,stateful',
    mode: 'all',
    'max-examples': String(given.maxExamples),
    seed: String(given.seed),
    workers: '1',
    'request-timeout': REQUEST_SECONDS,
    'max-redirects': '0',
    'generation-allow-x00': 'true',
    'generation-database': 'none',
    report: 'junit,ndjson',
    'report-dir': join(folder, 'report', name),
  };
  const named = Object.entries(options).flatMap(([option, value]) => [`--${option}`, value]);
  return ['--config-file', CONFIG, 'run', `${apiUrl}/openapi.json`, '--continue-on-failure', ...named];
}
