import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { runProcess } from '../../src/cli/run-process.ts';
import { freePorts } from '../../src/dev/ports.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';

const LIMIT_MS = 120_000;

interface Running {
  readonly process: ChildProcess;
  /** All that it has printed so far. */
  readonly output: () => string;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

/** `darkroom …` as a process of its own, compiled; asked to stop with the test. */
function darkroom(args: readonly string[], env: NodeJS.ProcessEnv): Running {
  const main = join(inject('programs'), 'cli', 'main.js');
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await ended;
  });
  return { process: child, output: () => output, ended };
}

/** Waits until it has printed this; an Error with what it printed when it ends before. */
async function printed(running: Running, text: string): Promise<void> {
  await eventually(() => {
    if (running.output().includes(text)) return true;
    if (running.process.exitCode !== null) throw new Error(`it ended: ${running.output()}`);
    return undefined;
  }, LIMIT_MS);
}

describe('darkroom api, darkroom worker', () => {
  it.each(['api', 'worker'])('%s ends with 78 and all problems of its settings', async (name) => {
    const env = {
      ...process.env,
      NODE_OPTIONS: '',
      DATABASE_URL: 'mysql://u:canary@localhost/x',
      KEYRING: 'nonsense',
    };
    const running = darkroom([name], env);
    expect(await running.ended).toBe(78);
    const output = running.output();
    expect(output).toContain('DATABASE_URL');
    expect(output).toContain('KEYRING');
    expect(output).not.toContain('canary');
  });

  it('start, and on SIGTERM end as the program itself does: cleanly, with 0', async () => {
    const room = await startDarkroom({ worker: false });
    onTestFinished(() => room.stop());
    const [port] = await freePorts(1);
    const api = darkroom(['api'], { ...room.env, PORT: `${port}` });
    const worker = darkroom(['worker'], room.env);
    await Promise.all([printed(api, 'api ready'), printed(worker, 'worker ready')]);
    const ask = () => fetch(`http://127.0.0.1:${port}/healthz`);
    expect((await ask()).status).toBe(200);
    for (const { process: one } of [api, worker]) one.kill('SIGTERM');
    expect(await Promise.all([api.ended, worker.ended])).toEqual([0, 0]);
    // The program itself is gone as well, not only the command before it.
    await expect(ask()).rejects.toThrow();
  }, 300_000);
});

describe('runProcess', () => {
  it('its exit code is the child’s; 128 and the number of the signal that ended it', async () => {
    expect(await runProcess(['-e', 'process.exit(7)'])).toBe(7);
    expect(await runProcess(['-e', ''])).toBe(0);
    const killed = await runProcess(['-e', 'process.kill(process.pid, "SIGKILL")']);
    expect(killed).toBe(128 + constants.signals.SIGKILL);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']) {
      expect([signal, process.listenerCount(signal)]).toEqual([signal, listenersBefore[signal]]);
    }
  });
  const listenersBefore = Object.fromEntries(
    ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'].map((signal) => [signal, process.listenerCount(signal)]),
  );
});
