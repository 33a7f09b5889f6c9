import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitUntil } from '../../src/dev/child.ts';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { PROVIDERS } from '../../src/providers/index.ts';

const START = fileURLToPath(new URL('../../scripts/start.mjs', import.meta.url));

interface Printed {
  readonly api_url: string;
  readonly temporal_ui_url: string;
  readonly api_key: string;
  readonly admin_key: string;
  readonly simulators: Readonly<Record<string, string>>;
  readonly generations: readonly {
    readonly id: string;
    readonly output: {
      readonly path: string;
      readonly url: string;
      readonly bytes: number;
      readonly sha256: string;
    };
  }[];
  readonly credits_before: { readonly available: number; readonly spent: number };
  readonly credits_after: { readonly available: number; readonly spent: number };
}

let folder: ReturnType<typeof temporaryFolder>;
let dataDir: string;
const started = new Set<ChildProcess>();
beforeAll(() => {
  folder = temporaryFolder('start');
  dataDir = join(folder.path, 'my data');
  mkdirSync(dataDir);
});
afterAll(async () => {
  await Promise.all([...started].map(end));
  await folder.remove();
});

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

function start(...args: string[]) {
  const { NODE_OPTIONS: _, DATABASE_URL: __, TEMPORAL_ADDRESS: ___, ...env } = process.env;
  const child = spawn(process.execPath, [START, ...args], {
    env: { ...env, DARKROOM_DATA: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.add(child);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  return {
    child,
    ended,
    stdout: () => stdout,
    stderr: () => stderr,
    async printed(): Promise<Printed> {
      const [line] = (await Promise.race([
        once(createInterface({ input: child.stdout }), 'line'),
        ended.then((code) => Promise.reject(new Error(`npm start ended with ${code}:\n${stderr}`))),
      ])) as [string];
      return JSON.parse(line) as Printed;
    },
  };
}

/** The servers that run on a data folder: they name it in their arguments. */
function serversOf(path: string): string[] {
  const processes = execFileSync('ps', ['-axww', '-o', 'stat=,args='], { encoding: 'utf8' });
  return processes.split('\n').filter((line) => line.includes(path) && !line.startsWith('Z'));
}

const answers = (url: string) =>
  fetch(url, { signal: AbortSignal.timeout(60_000) }).then(
    ({ status }) => status,
    () => null,
  );

describe('npm start', { timeout: 300_000 }, () => {
  let first: ReturnType<typeof start>;
  let printed: Printed;

  test('prints what came of the samples as one JSON line, and serves', async () => {
    first = start('--json');
    printed = await first.printed();
    expect(printed).toEqual({
      api_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      temporal_ui_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      api_key: expect.any(String),
      admin_key: expect.any(String),
      simulators: Object.fromEntries(
        PROVIDERS.map(({ name }) => [name, expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/)]),
      ),
      generations: [
        { ...sample('infro-video'), finished_by: 'callback' },
        { ...sample('infro-video-polled'), finished_by: 'poll' },
      ],
      credits_before: { available: 10_000, held: 0, spent: 0 },
      credits_after: { available: 9_800, held: 0, spent: 200 },
      seconds: expect.any(Number),
    });
    for (const { output } of printed.generations) {
      const file = readFileSync(output.path);
      expect(file.length).toBe(output.bytes);
      expect(createHash('sha256').update(file).digest('hex')).toBe(output.sha256);
      const linked = await fetch(output.url, { signal: AbortSignal.timeout(60_000) });
      expect(file.equals(Buffer.from(await linked.arrayBuffer()))).toBe(true);
    }
    const pages = ['/docs', '/openapi.json', '/readyz'].map((path) => answers(`${printed.api_url}${path}`));
    expect(await Promise.all(pages)).toEqual([200, 200, 200]);
    expect(await answers(printed.temporal_ui_url)).toBe(200);
    const journals = Object.values(printed.simulators).map((url) => answers(`${url}/_sim/journal`));
    expect(await Promise.all(journals)).toEqual(PROVIDERS.map(() => 200));
  });

  test('a second one beside it moves its ports, keeps off its data, and says so', async () => {
    const second = start('--json', '--exit');
    const other = await second.printed();
    expect(await second.ended).toBe(0);
    expect(second.stdout().trimEnd().split('\n')).toHaveLength(1);
    expect(second.stderr()).toContain(`another npm start (process ${first.child.pid}, ${printed.api_url})`);
    expect(other.api_url).not.toBe(printed.api_url);
    expect(other.api_key).not.toBe(printed.api_key);
    expect(await answers(`${printed.api_url}/readyz`)).toBe(200);
    expect(await answers(`${other.api_url}/readyz`)).toBeNull();
  });

  test('after a kill -9 nothing of it is left; the next one goes on with its data', async () => {
    const servers = serversOf(dataDir);
    expect(servers.length).toBeGreaterThanOrEqual(2);
    first.child.kill('SIGKILL');
    await first.ended;
    const isGone = async () =>
      serversOf(dataDir).length === 0 && (await answers(`${printed.api_url}/readyz`)) === null;
    expect(await waitUntil(isGone, { timeoutMs: 60_000, everyMs: 200 })).toBe(true);

    const again = start('--json', '--exit');
    const next = await again.printed();
    expect(await again.ended).toBe(0);
    expect(next.api_key).toBe(printed.api_key);
    expect(next.credits_before).toEqual(printed.credits_after);
  });

  test('Ctrl-C stops everything and keeps nothing running; --fresh forgets all', async () => {
    const fresh = start('--fresh');
    const isServing = () => Promise.resolve(fresh.stderr().includes('serving; Ctrl-C stops everything'));
    expect(await waitUntil(isServing, { timeoutMs: 240_000, everyMs: 100 })).toBe(true);
    expect(fresh.stdout()).toContain('credits before   10000 available, 0 held, 0 spent');
    fresh.child.kill('SIGINT');
    expect(await fresh.ended).toBe(0);
    expect(serversOf(dataDir)).toEqual([]);
  });
});

function sample(model: string) {
  return {
    id: expect.stringMatching(/^gen_[0-9a-hjkmnp-tv-z]{26}$/),
    model,
    state: 'succeeded',
    stage: 'done',
    credits: { held: 0, captured: 100, released: 0 },
    output: {
      path: expect.any(String),
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/files\/outputs\//),
      media_type: 'video/mp4',
      bytes: expect.any(Number),
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
  };
}

test('an unknown option is refused with the help', async () => {
  const refused = start('--frehs');
  expect(await refused.ended).toBe(2);
  expect(refused.stderr()).toContain("Unknown option '--frehs'");
  expect(refused.stderr()).toContain('--fresh   start from nothing');
});
