import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, test } from 'vitest';
import { SIMULATORS } from '../../src/simulators/index.ts';
import { eventually } from './control.ts';

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

const run = (...args: readonly string[]) => {
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/simulators/main.ts', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, SIM_INFRO_API_KEY: 'from-env' },
  });
  started.push(child);
  return child;
};
const output = async (child: ChildProcess) => {
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  return { code, text };
};

describe('the simulator as its own process', () => {
  test('says where it listens, serves, ends on SIGTERM', async () => {
    const child = run('--only', 'infro', '--render-ms', '5');
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const { name, url } = JSON.parse(line) as { name: string; url: string };
    expect(name).toBe('infro');
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const list = (key: string) => fetch(`${url}/v1/jobs`, { headers: { authorization: `Bearer ${key}` } });
    expect((await list('from-env')).status).toBe(200);
    expect((await list('sim-key')).status).toBe(401);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  test('starts all by name, each with its own key, in the order of the list', async () => {
    const child = run('--render-ms', '5');
    const lines: { name: string; url: string }[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(JSON.parse(line) as (typeof lines)[number]);
      if (lines.length === SIMULATORS.length) break;
    }
    expect(lines.map(({ name }) => name)).toEqual(SIMULATORS.map(({ name }) => name));
    const shown = await Promise.all(lines.map(async ({ url }) => (await fetch(url)).json()));
    expect(shown).toMatchObject(SIMULATORS.map(({ name }) => ({ simulator: name })));
  });

  test('--exit-with-parent: ends with the process that started it', async () => {
    const script = `const child = require('node:child_process').spawn(process.execPath,
      ['--import', 'tsx', 'src/simulators/main.ts', '--exit-with-parent'], { stdio: ['ignore', 'inherit', 'inherit'] });
      child.on('exit', (code) => process.exit(code));`;
    const parent = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    started.push(parent);
    const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string];
    const { url } = JSON.parse(line) as { url: string };
    expect((await fetch(url)).status).toBe(200);
    parent.kill('SIGKILL');
    await eventually(() =>
      fetch(url).then(
        () => undefined,
        () => true,
      ),
    );
  });

  test('--help names every fault; a wrong argument is told', async () => {
    const { faultSchema } = await import('../../src/simulators/faults.ts');
    const [help, wrongName, wrongPort] = await Promise.all([
      output(run('--help')),
      output(run('--only', 'nobody')),
      output(run('--port', 'x')),
    ]);
    expect(help.code).toBe(0);
    const kinds = faultSchema.options.map(({ shape }) => shape.kind.value);
    expect(kinds.filter((kind) => !help.text.includes(kind))).toEqual([]);
    expect(wrongName).toMatchObject({
      code: 1,
      text: expect.stringContaining('no simulator "nobody": infro'),
    });
    expect(wrongPort).toMatchObject({ code: 1, text: expect.stringContaining('--port') });
  });
});
