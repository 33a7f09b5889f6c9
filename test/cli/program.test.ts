import { execFile } from 'node:child_process';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { EXAMPLES } from '../../src/cli/examples.ts';
import { createProgram } from '../../src/cli/program.ts';
import { useDatabase } from '../db/database.ts';
import { newTenant } from '../db/fixtures.ts';
import { sold } from '../db/sales.ts';
import { commandsOn, NO_TEMPORAL } from './run.ts';
import type { Ran } from './run.ts';

const test = useDatabase();
const darkroom = commandsOn({ databaseUrl: () => test.url });

/** The real process, as people start it. */
function processOf(...args: string[]): Promise<Ran> {
  const env = { ...process.env, DATABASE_URL: test.url, TEMPORAL_ADDRESS: NO_TEMPORAL };
  return new Promise((done) => {
    const script = ['scripts/darkroom.mjs', ...args];
    execFile(process.execPath, script, { env }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

/** Commands that do something themselves, by their words; `providers` does, and has commands below it. */
function leaves(command: Command, path: readonly string[] = []): [string, Command][] {
  const below = command.commands.flatMap((child) => leaves(child, [...path, child.name()]));
  return EXAMPLES[path.join(' ')] !== undefined || below.length === 0
    ? [[path.join(' '), command], ...below]
    : below;
}
/** Programs that run on with a log, and a document that is JSON itself. */
const WITHOUT_JSON = ['dev', 'api', 'worker', 'simulate', 'openapi'];

describe('every command', () => {
  it('has one example in its help, which it would take, and --json where it prints data', async () => {
    const program = createProgram().exitOverride();
    const commands = leaves(program);
    expect(commands.map(([name]) => name).toSorted()).toEqual(Object.keys(EXAMPLES).toSorted());
    const without = commands.filter(([, { options }]) => !options.some(({ long }) => long === '--json'));
    expect(without.map(([name]) => name).toSorted()).toEqual(WITHOUT_JSON.toSorted());

    const helps = new Map<string, string>();
    const taken: string[] = [];
    for (const [name, command] of commands) {
      const write = (text: string) => helps.set(name, (helps.get(name) ?? '') + text);
      command.configureOutput({ writeOut: write }).outputHelp();
      command.exitOverride().action(() => void taken.push(name));
    }
    // Its options are those of the simulators, and so is its help.
    helps.set('simulate', (await darkroom('simulate', '--help')).stdout);
    for (const [name, example] of Object.entries(EXAMPLES)) {
      expect(helps.get(name)).toMatch(/Usage: |^darkroom simulate: /);
      expect(helps.get(name)!.endsWith(`\n\nExample:\n  npx darkroom ${example}\n`), name).toBe(true);
      const words = [...example.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);
      await program.parseAsync(words, { from: 'user' });
      expect(taken.splice(0)).toEqual([name]);
    }
  });
});

describe('exit codes', () => {
  it('0 for help, 2 for wrong use', async () => {
    const help = await darkroom('--help');
    expect(help.code).toBe(0);
    for (const command of ['report', 'generation', 'limit', 'budget', 'ledger', 'doctor', 'grant']) {
      expect(help.stdout).toMatch(new RegExp(`^ {2}${command} `, 'm'));
    }
    expect(await darkroom('help', 'report')).toMatchObject({ code: 0 });
    expect(await darkroom('report', '--help')).toMatchObject({ code: 0, stderr: '' });
    for (const args of [
      [],
      ['nonsense'],
      ['generation'],
      ['generation', 'nonsense'],
      ['generation', 'refund'],
      ['generation', 'refund', 'gen_x'],
      ['report', '--nonsense'],
      ['key', 'create'],
    ]) {
      const { code, stdout, stderr } = await darkroom(...args);
      expect([args, code, stdout]).toEqual([args, 2, '']);
      expect(stderr).not.toBe('');
    }
  });

  it('1 and what to do when the database is away; 78 for a bad setting', async () => {
    const away = commandsOn({ databaseUrl: () => 'postgresql://u:secret@127.0.0.1:1/nowhere' });
    const { code, stderr } = await away('report');
    expect(code).toBe(1);
    expect(stderr).toContain(
      'The database could not be asked, or did not answer in time. Check DATABASE_URL',
    );
    expect(stderr).not.toContain('secret');
    const wrong = commandsOn({ databaseUrl: () => 'mysql://localhost' });
    expect(await wrong('report')).toMatchObject({ code: 78, stdout: '' });
  });

  it('the real process has the same: 0, 1 and 2', async () => {
    const tenant = await newTenant(test.db);
    const id = await sold(test.db, tenant);
    const [report, refund, refused, wrong] = await Promise.all([
      processOf('report', '--tenant', tenant.id, '--json'),
      processOf('generation', 'refund', id, '--reason', 'bad_output', '--credits', '1'),
      processOf('generation', 'show', 'gen_x'),
      processOf('generation', 'refund', id),
    ]);
    expect(report).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(report.stdout)).toMatchObject({ tenant: tenant.id, total: { generations: 1 } });
    expect(refund).toMatchObject({
      code: 0,
      stdout: `refunded: 1 credits of ${id} for bad_output, 1 in all\n`,
    });
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr: 'There is no generation gen_x.\n' });
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
  }, 120_000);
});
