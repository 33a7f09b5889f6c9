import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import type { BenchReport } from './report.ts';

const BENCH = fileURLToPath(new URL('../../scripts/bench.mjs', import.meta.url));
/** Under a minute on a machine that does nothing else; beside other tests it takes several times as long. */
const LIMIT_MS = 900_000;
const RATIOS = [
  'generations_vs_bare_temporal',
  'generations_vs_bare_temporal_with_webhooks',
  'settle_vs_bare_signal',
  'settle_vs_bare_signal_half_load',
  'post_vs_bare_insert',
  'get_vs_bare_select',
  'list_vs_bare_select',
  'download_vs_curl',
  'download_vs_curl_and_fsync',
];

/** In the run's own process the environment is that of Vitest, which the programs must not see. */
function environment(): NodeJS.ProcessEnv {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VITEST|WORKFLOW_)/.test(name)),
  );
  return { ...env, NODE_ENV: '', NODE_OPTIONS: '' };
}

/** The processes that this one has started. */
function childrenOf(parent: number): number[] {
  return execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, ppid]) => (ppid === parent && pid !== undefined ? [pid] : []));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function bench(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)(process.execPath, [BENCH, ...args], {
    env: environment(),
    maxBuffer: 16_777_216,
    timeout: LIMIT_MS,
  });
}

describe('npm run bench -- --quick --json', () => {
  it(
    'compares everything, and counts exactly what one generation costs',
    async () => {
      const { stdout } = await bench('--quick', '--json');
      const lines = stdout.trim().split('\n');
      expect(lines.length).toBe(1);
      const report = JSON.parse(lines[0] ?? '') as BenchReport;

      expect(Object.keys(report.ratios).sort()).toEqual([...RATIOS].sort());
      for (const [name, { median, min, max, rounds }] of Object.entries(report.ratios)) {
        for (const value of [median, min, max, ...rounds]) {
          expect(Number.isFinite(value), name).toBe(true);
          expect(value, name).toBeGreaterThan(0);
        }
        expect(rounds.length, name).toBe(1);
        expect(min, name).toBeLessThanOrEqual(median);
        expect(median, name).toBeLessThanOrEqual(max);
      }

      const { counts } = report;
      expect(counts['history_events']).toBeLessThanOrEqual(30);
      expect(counts['billed_actions']).toBeLessThanOrEqual(8);
      expect(counts['history_bytes']).toBeGreaterThan(1_000);
      // By name, so that one more statement shows as what it is.
      expect(counts['sql_per_generation']).toEqual({
        api: { 'SELECT api_key': 1, create_generation: 1, record_callback: 1 },
        worker: {
          load_generation: 2,
          claim_submission: 1,
          record_submission: 1,
          record_observation: 1,
          record_output: 1,
          settle: 1,
        },
      });
      expect(counts['sql_statements']).toBe(10);

      expect(report.settings).toMatchObject({
        postgres: { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' },
        temporal_store: expect.stringContaining('file') as unknown,
      });
      for (const fact of ['cpus', 'model', 'memory', 'node', 'postgres', 'temporal', 'commit', 'date'])
        expect(report.machine).toHaveProperty(fact);
    },
    LIMIT_MS,
  );

  it(
    'a run that is cut keeps what it has measured, and leaves no process behind',
    async () => {
      const folder = temporaryFolder('bench-test');
      try {
        const out = join(folder.path, 'out.json');
        const run = spawn(
          process.execPath,
          [BENCH, '--quick', '--json', '--only', 'counts,settle', '--out', out],
          { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] },
        );
        const ended = once(run, 'close');
        let [stdout, stderr] = ['', ''];
        run.stdout.on('data', (text: Buffer) => (stdout += text.toString()));
        run.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
        await vi.waitFor(() => expect(stderr).toContain('measuring: settle'), LIMIT_MS);
        const children = childrenOf(run.pid ?? 0);
        expect(children.length).toBeGreaterThanOrEqual(7);
        run.kill('SIGTERM');
        expect(await ended).toEqual([143, null]);

        const printed = JSON.parse(stdout) as BenchReport;
        const kept = JSON.parse(readFileSync(out, 'utf8')) as BenchReport;
        for (const { whole, parts, counts } of [printed, kept]) {
          expect(whole).toBe(false);
          expect(parts).toEqual({
            counts: { seconds: expect.any(Number) as unknown, cpu_seconds: expect.any(Number) as unknown },
            settle: 'under way',
          });
          expect(counts['history_events']).toBe(30);
        }
        await vi.waitFor(() => expect(children.filter(isAlive)).toEqual([]), 60_000);
      } finally {
        await folder.remove();
      }
    },
    LIMIT_MS,
  );

  it('a part that it does not know is named, with all that there are', async () => {
    const failed = await bench('--only', 'speed').catch(
      (error: unknown) => error as { code: number; stderr: string },
    );
    expect(failed).toMatchObject({ code: 2 });
    expect(failed.stderr).toContain('there is no part "speed"');
    expect(failed.stderr).toContain('generations, settle, requests, counts, waiting, download, tables');
  });
});
