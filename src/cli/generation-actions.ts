import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { RunFacts } from '../db/index.ts';
import { refusalText } from '../domain/operator-actions.ts';
import type { OperatorActionName } from '../domain/operator-actions.ts';
import { actionView } from '../services/act-on-generation.ts';
import type { Acted, ActionInput } from '../services/act-on-generation.ts';
import { cancelAsOperator } from '../services/cancel-as-operator.ts';
import { observeNow } from '../services/observe-now.ts';
import type { OperatorContext } from '../services/operate.ts';
import { redeliverGeneration } from '../services/redeliver-generation.ts';
import { retryStoring, STORE_HOURS } from '../services/retry-storing.ts';
import { wakeGeneration } from '../services/wake-generation.ts';
import { ensureRunning } from '../temporal/ensure-running.ts';
import { show, withContext } from './context.ts';
import type { CliContext } from './context.ts';
import { actorOption, sentence } from './options.ts';

/** What every action on a generation is given on the command line. */
export interface ActionOptions {
  readonly reason: string;
  readonly actor: string;
  readonly dryRun?: true;
  readonly json?: boolean;
}

type Done = Extract<Acted, { outcome: 'done' }>;

/** The options of every action; without a default the reason must be given. */
export function withActionOptions(command: Command, defaultReason?: string): Command {
  const described =
    defaultReason === undefined
      ? command.requiredOption('--reason <text>', 'for the record', sentence)
      : command.option('--reason <text>', 'for the record', sentence, defaultReason);
  return described
    .addOption(actorOption())
    .option('--dry-run', 'tell what would happen, change nothing')
    .option('--json', 'one JSON object instead of text');
}

/** Acts, wakes the run where it must look, and prints what came of it; a refusal ends with exit code 1 and what to do. */
export async function runAction(
  self: Command,
  action: OperatorActionName,
  id: string,
  options: ActionOptions,
  act: (ctx: OperatorContext, input: ActionInput) => Promise<Acted>,
): Promise<void> {
  const { reason, actor, json = false } = options;
  const dryRun = options.dryRun === true;
  const { acted, runWoken, temporalUrl } = await withContext(async (ctx) => {
    const woken: RunFacts[] = [];
    const starter = { enqueue: (run: RunFacts) => woken.push(run) > 0 };
    const acted = await act({ db: ctx.db, starter }, { id, actor, reason, dryRun });
    const [run] = woken;
    return {
      acted,
      runWoken: run !== undefined && (await wake(ctx, run)),
      temporalUrl: ctx.runUrl(id),
    };
  });
  if (acted.outcome === 'not_found') return self.error(`There is no generation ${id}.`, { exitCode: 1 });
  if (acted.outcome === 'refused') {
    return self.error(`${id}: ${refusalText(action, acted)}`, { exitCode: 1 });
  }
  const view = { ...actionView(action, acted, { dryRun, temporalUrl }), run_woken: runWoken };
  show(view, json, () => {
    const link = temporalUrl === null ? '' : `\n${temporalUrl}`;
    return `${id}${dryRun ? ', dry run, nothing was changed' : ''}: ${wordsOf(acted)}${link}`;
  });
}

/** The action stands in any case; while Temporal is away, the sweep wakes the run later. */
async function wake(ctx: CliContext, run: RunFacts): Promise<boolean> {
  try {
    await ensureRunning(ctx.temporal, run, 'operator');
    return true;
  } catch {
    process.stderr.write('note: Temporal could not be reached; the sweep wakes the run when it is back\n');
    return false;
  }
}

function wordsOf({ effect, state, submission, jobId, count, skipped, until }: Done): string {
  switch (effect) {
    case 'woken':
      return 'its run looks at its rows now';
    case 'cancelled':
      return 'cancelled; its credits are released';
    case 'requested':
      return 'its provider is asked to cancel; the answer decides';
    case 'observing':
      return `its run looks at job ${jobId} now`;
    case 'searching':
      return 'its run looks for the job now, where the provider can be asked; else attach it by hand, or declare it not accepted';
    case 'observing_late':
      return `${count} job${count === 1 ? '' : 's'} looked at within seconds; what it costs is booked, nothing changes for the tenant`;
    case 'storing':
      return `${count} output${count === 1 ? '' : 's'} tried again, until ${until}`;
    case 'attaching':
      return `its run asks the provider for job ${jobId} and attaches it to ${submission} when it is there; "darkroom generation show" tells what came of it`;
    case 'attaching_late':
      return `job ${jobId} is asked for, then attached to ${submission}, asked to stop and its cost booked; nothing changes for the tenant`;
    case 'attached':
      return `${submission} has job ${jobId} already; nothing to do`;
    case 'ended':
      return `${submission} is declared not accepted; ended as ${state}, its credits are released`;
    case 'resubmitting':
      return `${submission} is declared not accepted; its run sends a new submission`;
    case 'redelivering':
      return `${count} webhook${count === 1 ? '' : 's'} sent again${skipped ? `, ${skipped} left out: their endpoint is disabled or deleted` : ''}`;
  }
}

function simpleAction(
  command: Command,
  action: OperatorActionName,
  description: string,
  act: (ctx: OperatorContext, input: ActionInput) => Promise<Acted>,
  defaultReason?: string,
): Command {
  return withActionOptions(command.description(description).argument('<id>', 'gen_…'), defaultReason).action(
    (id: string, options: ActionOptions, self: Command) => runAction(self, action, id, options, act),
  );
}

/** `darkroom generation wake`; its reason may be left out, since it changes nothing. */
export const describeWake = (command: Command): Command =>
  simpleAction(
    command,
    'wake',
    'make its run look at its rows now; also starts a run that was lost',
    wakeGeneration,
    'woken by hand',
  );

/** `darkroom generation cancel`. */
export const describeCancel = (command: Command): Command =>
  simpleAction(
    command,
    'cancel',
    'ask for a cancellation as an operator',
    cancelAsOperator,
    'cancelled by hand',
  );

/** `darkroom generation observe`. */
export const describeObserve = (command: Command): Command =>
  simpleAction(
    command,
    'observe',
    'look at its job now, whatever its next poll; also after its end, while the job is not known to have ended',
    observeNow,
  );

/** `darkroom generation redeliver`. */
export const describeRedeliver = (command: Command): Command =>
  simpleAction(command, 'redeliver', 'send all its webhooks again', redeliverGeneration);

/** `darkroom generation retry-storing`. */
export function describeRetryStoring(command: Command): Command {
  return withActionOptions(
    command
      .description('try again to store outputs that were given up, after a success and before the end')
      .argument('<id>', 'gen_…')
      .option('--hours <n>', 'for so many hours from now at least', hours, STORE_HOURS.default),
  ).action((id: string, options: ActionOptions & { readonly hours: number }, self: Command) =>
    runAction(self, 'retry-storing', id, options, (ctx, input) =>
      retryStoring(ctx, { ...input, hours: options.hours }),
    ),
  );
}

function hours(text: string): number {
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= STORE_HOURS.min && value <= STORE_HOURS.max)) {
    throw new InvalidArgumentError(
      `Write a whole number of hours, from ${STORE_HOURS.min} to ${STORE_HOURS.max}.`,
    );
  }
  return value;
}
