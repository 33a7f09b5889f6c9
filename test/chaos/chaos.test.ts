import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { ChaosReport } from './run.ts';
import { GROUPS, KILLS } from './scenarios.ts';

const SCRIPT = fileURLToPath(new URL('../../scripts/chaos.mjs', import.meta.url));
const run = promisify(execFile);
/** Two minutes alone on two cores; here other tests run beside it. */
const LIMIT_MS = 600_000;
const GENERATIONS = 60;
const KILLED = 12;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function chaos(...args: readonly string[]): Promise<Ended> {
  const options = { timeout: LIMIT_MS, maxBuffer: 64 * 1_024 * 1_024 };
  try {
    return { code: 0, ...(await run(process.execPath, [SCRIPT, ...args], options)) };
  } catch (error) {
    return error as Ended;
  }
}

describe('npm run chaos', () => {
  it(
    'a short run of every fault: the promise holds, everything ends, and it really struck',
    async () => {
      const counts = ['--generations', String(GENERATIONS), '--kills', String(KILLED)];
      const { code, stdout, stderr } = await chaos(...counts, '--seed', '7', '--json');
      expect(stdout.trim().split('\n').length, stderr).toBe(1);
      const report = JSON.parse(stdout) as ChaosReport;
      expect(report.violations, stderr).toEqual([]);
      expect(code).toBe(0);
      const { succeeded = 0, failed = 0, cancelled = 0, expired = 0, ...open } = report.states;
      expect(open).toEqual({});
      const { insufficient_credits: poor = 0, invalid_request: tooLong = 0 } = report.refused;
      expect(succeeded + failed + cancelled + expired).toBeGreaterThanOrEqual(GENERATIONS - poor - tooLong);
      expect(succeeded).toBeGreaterThan(GENERATIONS / 4);
      // A kill point that nobody passes in a run so short is counted as not struck.
      expect(report.kills).toBeGreaterThanOrEqual(KILLED / 2);
      const others = GROUPS.filter((group) => !KILLS.includes(group));
      // Each was done; on a machine that stands still one may meet nobody, but not most of them.
      expect(others.filter((group) => (report.faults[group] ?? report.missed[group]) === undefined)).toEqual(
        [],
      );
      expect(others.filter((group) => report.faults[group] === undefined).length).toBeLessThan(
        others.length / 3,
      );
      expect(Object.keys(report.provider_faults.struck).length).toBeGreaterThan(0);
      // What was read meanwhile, and how often a stream was cut and gone on with.
      expect(Object.entries(report.read).filter(([, count]) => count === 0)).toEqual([]);
      expect(report.invariants_checked).toBeGreaterThan(1);
      expect(report.recovered).toBeGreaterThan(GENERATIONS / 4);
      // How many in time is judged where faults are spread over minutes: see `belowBar`.
      expect(report.recovered_within_15s).not.toBeNull();
    },
    LIMIT_MS + 30_000,
  );

  it('says what is wrong with its arguments, and exits with 2', async () => {
    const { code, stderr } = await chaos('--faults', 'F-23');
    expect(code).toBe(2);
    expect(stderr).toContain('--faults has "F-23"');
    expect(stderr).toContain('--generations N');
  });
});
