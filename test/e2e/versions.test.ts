import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { Child } from '../../src/dev/child.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import type { Asked } from '../support/generations.ts';
import { askHeld, expectDelivered, release } from '../support/held.ts';
import { historyOf, type HistoryEvent } from '../support/history.ts';

// Each scenario stops and starts several workers.
vi.setConfig({ testTimeout: 300_000 });

const PATCH = 'look-before-settle';
const SETTLE = "case 'settle':";

let room: Darkroom;
let copy: string;
/** The workflows of version B: one step more before settling, behind `patched`. */
let bundleB: string;

beforeAll(async () => {
  // Beside the programs, since their imports are looked up from there.
  copy = await mkdtemp(join(inject('programs'), '..', 'src-version-b-'));
  for (const name of ['workflows', 'domain'])
    await cp(join(inject('programs'), name), join(copy, name), { recursive: true });
  const file = join(copy, 'workflows', 'generate-media.js');
  const code = await readFile(file, 'utf8');
  if (code.split(SETTLE).length !== 2) throw new Error(`${file} has no single "${SETTLE}"`);
  const extra = `if (patched('${PATCH}')) await look(null);`;
  await writeFile(
    file,
    `import { patched } from '@temporalio/workflow';\n${code.replace(SETTLE, `${SETTLE} ${extra}`)}`,
  );
  const workflowsPath = join(copy, 'workflows', 'index.js');
  const bundle = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
  bundleB = join(copy, 'workflows.js');
  await writeFile(bundleB, bundle.code);
  room = await startDarkroom({ worker: false });
});
/** Those of a scenario that failed would take tasks of the next. */
const workers: Child[] = [];
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop(5_000, 'SIGKILL')));
});
afterAll(async () => {
  await room?.stop();
  await rm(copy, { recursive: true, force: true });
});

async function startWorker(variables: NodeJS.ProcessEnv = {}): Promise<Child> {
  const worker = await room.startWorker(undefined, variables);
  workers.push(worker);
  return worker;
}

/** Lets them end; each is delivered once. */
async function expectOnce(all: readonly Asked[]): Promise<void> {
  for (const asked of all) await release(room, asked);
  for (const asked of all) await expectDelivered(room, asked);
}

/** Temporal's command line, as OPERATIONS.md writes it. */
async function temporal(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(room.temporal.binary, [
    ...args,
    '--address',
    room.temporal.address,
  ]);
  return stdout;
}

/** null = workers without a version. */
function makeCurrent(buildId: string | null): Promise<string> {
  // A version is known once its workers have polled all its queues.
  return eventually(
    () =>
      temporal(
        'worker',
        'deployment',
        'set-current-version',
        '--deployment-name=darkroom',
        buildId === null ? '--unversioned' : `--build-id=${buildId}`,
        '--yes',
      ).catch(() => undefined),
    60_000,
  );
}

/** The build whose worker did each workflow task of the run, in order. */
function buildsOf(events: readonly HistoryEvent[]): string[] {
  return events.flatMap((event) => {
    const done = event['workflowTaskCompletedEventAttributes'] as Record<string, unknown> | null | undefined;
    const version = done?.['deploymentVersion'] as { buildId?: string } | null | undefined;
    return done ? [version?.buildId ?? ''] : [];
  });
}

const hasPatch = (events: readonly HistoryEvent[]): boolean =>
  events.some((event) => event['markerRecordedEventAttributes']);

describe('K1: Temporal is away', () => {
  it('a worker that starts meanwhile ends and says so; one that ran goes on when it is back, without a restart', async () => {
    const worker = await startWorker();
    const asked = await askHeld(room);
    await room.temporal.kill();
    // Its supervisor starts it again, as docker-compose.yml says.
    await expect(startWorker()).rejects.toThrow('The worker cannot run: ');
    await release(room, asked);
    expect(worker.isRunning()).toBe(true);
    await room.temporal.start();
    await expectDelivered(room, asked);
    expect(await worker.stop(60_000)).toEqual({ code: 0, signal: null });
  });
});

describe('an upgrade tried with two worker versions on one running system', () => {
  it('plain rolling: B joins, A drains in mid-flight; every generation ends once, those of A under B', async () => {
    const a = await startWorker();
    const before = await askHeld(room);
    const b = await startWorker({ WORKFLOW_BUNDLE: bundleB });
    const beside = await askHeld(room);
    expect(await a.stop(60_000)).toEqual({ code: 0, signal: null });
    const after = await askHeld(room);
    await expectOnce([before, beside, after]);
    for (const { id } of [before, after]) expect(hasPatch(await historyOf(room, id))).toBe(true);
    // Back again: what B has finished needs no worker, and what is new runs under A.
    expect(await b.stop(60_000)).toEqual({ code: 0, signal: null });
    const rolledBack = await startWorker();
    const last = await askHeld(room);
    await expectOnce([last]);
    expect(hasPatch(await historyOf(room, last.id))).toBe(false);
    expect((await rolledBack.stop(60_000)).code).toBe(0);
  });

  it('worker deployments: a run moves to B once B is current, not before; A drains', async () => {
    const build = (WORKER_BUILD_ID: string) => ({ WORKER_DEPLOYMENT: 'darkroom', WORKER_BUILD_ID });
    const a = await startWorker(build('build-a'));
    await makeCurrent('build-a');
    const under = await askHeld(room);
    await expectOnce([under]);
    expect(new Set(buildsOf(await historyOf(room, under.id)))).toEqual(new Set(['build-a']));

    const moved = await askHeld(room);
    const b = await startWorker({ ...build('build-b'), WORKFLOW_BUNDLE: bundleB });
    const stillA = await askHeld(room);
    await expectOnce([stillA]);
    expect(new Set(buildsOf(await historyOf(room, stillA.id)))).toEqual(new Set(['build-a']));

    await makeCurrent('build-b');
    const underB = await askHeld(room);
    await expectOnce([moved, underB]);
    const builds = buildsOf(await historyOf(room, moved.id));
    expect([builds[0], builds.at(-1)]).toEqual(['build-a', 'build-b']);
    expect(hasPatch(await historyOf(room, moved.id))).toBe(true);
    expect(buildsOf(await historyOf(room, underB.id)).at(-1)).toBe('build-b');
    expect(hasPatch(await historyOf(room, underB.id))).toBe(true);
    expect(await a.stop(60_000)).toEqual({ code: 0, signal: null });
    const alone = await askHeld(room);
    await expectOnce([alone]);
    expect((await b.stop(60_000)).code).toBe(0);

    // Without versions again: a worker without one gets nothing until its kind is made current.
    await makeCurrent(null);
    await startWorker();
    const plain = await askHeld(room);
    await expectOnce([plain]);
    expect(new Set(buildsOf(await historyOf(room, plain.id)))).toEqual(new Set(['']));
  });
});
