import { readFile } from 'node:fs/promises';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import type { ReplayWorkerOptions } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { Command } from 'commander';
import { parseKeyring } from '../domain/keyring.ts';
import type { Keyring } from '../domain/keyring.ts';
import { createDataConverter } from '../temporal/data-converter.ts';
import { listRuns, readHistory } from '../temporal/histories.ts';
import type { RunRef } from '../temporal/histories.ts';
import { WORKFLOWS_PATH } from '../worker/bundle-workflows.ts';
import { show, table, withContext } from './context.ts';
import type { CliContext } from './context.ts';
import { commandEnvironment } from './environment.ts';
import { rows } from './options.ts';

interface ReplayOptions {
  readonly recent?: number;
  readonly open?: number;
  readonly json?: boolean;
}

/** One history to be replayed; the id is what its run was told. */
interface Recorded {
  readonly name: string;
  readonly workflowId: string;
  readonly history: unknown;
}

interface Replayed {
  readonly name: string;
  /** null = this version makes the same decisions. */
  readonly problem: string | null;
}

/** `darkroom replay`: whether runs of the version before can go on under this one; to be run before a deployment. */
export function replayCommand(): Command {
  return new Command('replay')
    .description(
      "replays histories of runs against this version's workflow code; exit code 1 when one would break",
    )
    .argument(
      '[what...]',
      'gen_…, or files as "temporal workflow show --output json" writes them (their name is the id, or a field workflowId)',
    )
    .option('--recent <n>', 'the n runs that were started last', rows)
    .option('--open <n>', 'n runs that are still open, newest first', rows)
    .option('--json', 'one JSON object instead of text')
    .action(async (what: readonly string[], options: ReplayOptions, command: Command) => {
      if (what.length === 0 && options.recent === undefined && options.open === undefined) {
        return command.error('Name generations or files, or give --open N or --recent N.', { exitCode: 2 });
      }
      const replayed = await replay(await collect(what, options));
      const broken = replayed.filter(({ problem }) => problem !== null);
      show({ replayed: replayed.length, broken }, options.json === true, () => textOf(replayed));
      if (replayed.length === 0) return command.error('No history was found.');
      if (broken.length > 0) {
        command.error(
          `${broken.length} of ${replayed.length} would break: keep the change behind patched(), or let those runs end on the old version first.`,
        );
      }
    });
}

function textOf(replayed: readonly Replayed[]): string {
  return table([
    ['run', 'with this version'],
    ...replayed.map(({ name, problem }) => [name, problem ?? 'makes the same decisions']),
  ]);
}

async function collect(what: readonly string[], { recent, open }: ReplayOptions): Promise<Recorded[]> {
  const files = what.filter((one) => !one.startsWith('gen_') || one.endsWith('.json'));
  const ids = what.filter((one) => !files.includes(one));
  const recorded = await Promise.all(files.map(readRecorded));
  if (ids.length === 0 && recent === undefined && open === undefined) return recorded;
  return withContext(async (ctx) => {
    const runs: RunRef[] = [
      ...(await take(ctx, "ExecutionStatus = 'Running'", open ?? 0)),
      ...(await take(ctx, `StartTime > '2020-01-01T00:00:00Z'`, recent ?? 0)),
    ];
    const unique = new Map(runs.map((run) => [run.runId, run]));
    const named = await Promise.all(ids.map(async (id) => recordedOf(ctx, id)));
    const found = await Promise.all(
      [...unique.values()].map(async ({ generationId, runId }) => recordedOf(ctx, generationId, runId)),
    );
    return [...recorded, ...[...named, ...found].flatMap((one) => one ?? [])];
  });
}

async function take({ temporal }: CliContext, query: string, count: number): Promise<RunRef[]> {
  const runs: RunRef[] = [];
  if (count === 0) return runs;
  for await (const run of listRuns(temporal.client, query)) {
    runs.push(run);
    if (runs.length >= count) break;
  }
  return runs;
}

/** A run that ended its retention between the list and this is left out. */
async function recordedOf(
  { temporal }: CliContext,
  generationId: string,
  runId?: string,
): Promise<Recorded | null> {
  const history = await readHistory(temporal.client, generationId, runId);
  return history && { name: generationId, workflowId: generationId, history };
}

/** @throws an Error that names the file and says what it should be */
async function readRecorded(file: string): Promise<Recorded> {
  const id = /gen_[0-9a-z]{26}/.exec(file)?.[0] ?? 'replayed';
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new Error(`${file} can't be read: ${firstLine(error)}`);
  });
  let value: { workflowId?: unknown; history?: unknown; events?: unknown };
  try {
    value = JSON.parse(text) as typeof value;
  } catch {
    throw new Error(`${file} is not JSON: write it with "temporal workflow show --output json".`);
  }
  const history = value.history ?? value;
  if (!Array.isArray((history as { events?: unknown }).events)) {
    throw new Error(`${file} has no events: write it with "temporal workflow show --output json".`);
  }
  return { name: file, workflowId: typeof value.workflowId === 'string' ? value.workflowId : id, history };
}

async function replay(recorded: readonly Recorded[]): Promise<Replayed[]> {
  if (recorded.length === 0) return [];
  const logger = new DefaultLogger('ERROR');
  Runtime.install({ logger, shutdownSignals: [] });
  const options: ReplayWorkerOptions = {
    workflowBundle: await bundleWorkflowCode({ workflowsPath: WORKFLOWS_PATH, logger }),
    dataConverter: createDataConverter(codecKeys(), (problem) => process.stderr.write(`${problem}\n`)),
  };
  const results: Replayed[] = [];
  for (const { name, workflowId, history } of recorded) {
    results.push({ name, problem: await problemOf(options, history, workflowId) });
  }
  return results;
}

async function problemOf(
  options: ReplayWorkerOptions,
  history: unknown,
  workflowId: string,
): Promise<string | null> {
  try {
    await Worker.runReplayHistory(options, history, workflowId);
    return null;
  } catch (error) {
    return error instanceof DeterminismViolationError
      ? `decides otherwise: ${firstLine(error)}`
      : firstLine(error);
  }
}

const firstLine = (error: unknown): string => (error as Error).message.split('\n')[0] ?? '';

/** Files are replayed without a database, so nothing but the keys is needed. @throws when they can't be read */
function codecKeys(): Keyring | null {
  const text = commandEnvironment()['TEMPORAL_CODEC_KEYS'];
  return text === undefined ? null : parseKeyring(text);
}
