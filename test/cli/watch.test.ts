import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { useDatabase } from '../db/database.ts';
import { accepted, newTenant } from '../db/fixtures.ts';
import { deliver, failed, sold } from '../db/sales.ts';
import { eventually } from '../simulators/control.ts';
import { commandsOn, NO_TEMPORAL } from './run.ts';

const test = useDatabase();
const darkroom = commandsOn({ databaseUrl: () => test.url });
const statesOf = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { state: string }).state);

/** The command as a process of its own; `terminal` = it takes its output for one. */
function watching(id: string, { terminal = false, args = [] as readonly string[] } = {}) {
  const asTerminal = [
    '--import',
    `data:text/javascript,${encodeURIComponent('process.stdout.isTTY = true; process.stdout.columns = 50;')}`,
  ];
  const child = spawn(
    process.execPath,
    [
      ...(terminal ? asTerminal : []),
      join(inject('programs'), 'cli', 'main.js'),
      'generation',
      'watch',
      id,
      ...args,
    ],
    { env: { ...process.env, NODE_OPTIONS: '', DATABASE_URL: test.url, TEMPORAL_ADDRESS: NO_TEMPORAL } },
  );
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => (texts[name] += text));
  }
  const closed = once(child, 'close') as Promise<[number | null]>;
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  return {
    texts,
    interrupt: () => child.kill('SIGINT'),
    printed: (pattern: RegExp) => eventually(() => (pattern.test(texts.stdout) ? true : undefined), 100_000),
    end: async () => ({ code: (await closed)[0], ...texts }),
  };
}

describe('darkroom generation watch', () => {
  it('follows to the end: 0 when it succeeded, a JSON line per change', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    const watching = darkroom('generation', 'watch', id, '--json');
    await deliver(test.db, id);
    const { code, stdout, stderr } = await watching;
    expect([code, stderr]).toEqual([0, '']);
    expect(statesOf(stdout).at(-1)).toBe('succeeded');
  });

  it('what has ended already is told once; 1 when it did not succeed, or is not there', async () => {
    const tenant = await newTenant(test.db);
    const good = await sold(test.db, tenant);
    const bad = await failed(test.db, tenant);
    const ended = await darkroom('generation', 'watch', good);
    expect([ended.code, ended.stdout]).toEqual([0, expect.stringMatching(/^\S+Z {2}succeeded {2}infro\n$/)]);
    expect(await darkroom('generation', 'watch', bad)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/failed {2}infro {2}provider_failed\n$/) as string,
      stderr: `${bad} ended as failed, provider_failed.\n`,
    });
    expect(await darkroom('generation', 'watch', 'gen_x')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'There is no generation gen_x.\n',
    });
  });

  it('Ctrl-C ends the watch, not the generation: 1', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    const watch = watching(id, { args: ['--json'] });
    await watch.printed(/\n/);
    watch.interrupt();
    const { code, stdout, stderr } = await watch.end();
    expect([code, statesOf(stdout), stderr]).toEqual([1, ['running'], `Stopped watching; ${id} goes on.\n`]);
  });

  it('on a terminal one line that moves, cut to its width; a new one for each stage', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    // Far ahead, so that no slowness makes the time in the line one that is past.
    await test.sql(`UPDATE generation SET due_at = now() + interval '90 minutes' WHERE id = $1`, [id]);
    const watch = watching(id, { terminal: true });
    const line = String.raw`\r\x1b\[2Krunning, waiting  infro  next look in \d+ min`;
    // Drawn at once, and again while nothing changes, since the time in it goes on.
    await watch.printed(new RegExp(`^${line}[^\n]*${line}`));
    await deliver(test.db, id);
    const { code, stdout, stderr } = await watch.end();
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.endsWith('\n\r\x1b[2Ksucceeded  infro\n')).toBe(true);
    const drawn = stdout.split('\n').flatMap((row) => row.split('\r\x1b[2K'));
    expect(Math.max(...drawn.map((text) => text.length))).toBe(49);
  });
});
