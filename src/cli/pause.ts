import { Command } from 'commander';
import { loadProviderConfig } from '../config.ts';
import { listPauses, PAUSE_KINDS, type Pause, type PauseKind } from '../db/pauses.ts';
import { operate } from '../services/operate.ts';
import {
  pauseTarget,
  resumeTarget,
  type PauseContext,
  type UnknownTarget,
} from '../services/pause-target.ts';
import { show, table, withContext } from './context.ts';
import { commandEnvironment } from './environment.ts';
import { actorOption, sentence } from './options.ts';

interface ByHand {
  readonly reason: string;
  readonly actor: string;
  readonly dryRun?: true;
  readonly json?: boolean;
}

/** What a target is, for people. */
const TARGETS: Readonly<Record<PauseKind, { readonly argument: string; readonly told: string }>> = {
  provider: {
    argument: 'as the catalogue names it',
    told: 'models with another provider go on there, the others wait',
  },
  model: { argument: 'its id', told: 'new generations of it are refused with 503, those not yet sent wait' },
  tenant: {
    argument: 'ten_…',
    told: 'its new generations are refused with 403, those not yet sent wait; reading, cancelling, files and webhooks go on',
  },
};

/** `darkroom pause`: stops new submits to a provider, or of a model or tenant. */
export function pauseCommand(): Command {
  const command = new Command('pause')
    .description(
      'stop new submits to a provider, or of a model or tenant; what a provider has already goes on',
    )
    .addCommand(listCommand());
  for (const kind of PAUSE_KINDS) command.addCommand(onePause(kind));
  return command;
}

/** `darkroom resume`: takes a pause back. */
export function resumeCommand(): Command {
  const command = new Command('resume').description(
    'take a pause back: generations that wait for it go on within seconds',
  );
  for (const kind of PAUSE_KINDS) command.addCommand(oneResume(kind));
  return command;
}

function listCommand(): Command {
  return new Command('list')
    .description('everything that is paused, with who and why')
    .option('--json', 'one JSON array instead of a table')
    .action(async ({ json = false }: { json?: boolean }) => {
      const pauses = await withContext(({ db }) => listPauses(db));
      show(pauses.map(pauseJson), json, () =>
        pauses.length === 0
          ? 'Nothing is paused.'
          : table([
              ['kind', 'target', 'since', 'by', 'reason'],
              ...pauses.map((pause) => [
                pause.kind,
                pause.target,
                pause.createdAt.toISOString(),
                pause.actor,
                pause.reason,
              ]),
            ]),
      );
    });
}

function onePause(kind: PauseKind): Command {
  return withOptions(new Command(kind), kind)
    .description(`pause a ${kind}: ${TARGETS[kind].told}`)
    .action(async (target: string, options: ByHand, command: Command) => {
      const { reason, actor, json = false } = options;
      const dryRun = options.dryRun === true;
      const paused = await acting(dryRun, (ctx) => pauseTarget(ctx, { kind, target, reason, actor }));
      if (paused.outcome === 'unknown_target') return command.error(unknownText(kind, target, paused));
      const { pause, outcome } = paused;
      const already = `${kind} ${target} is paused already, since ${pause.createdAt.toISOString()} by ${pause.actor}: ${pause.reason}`;
      show({ outcome, dry_run: dryRun, pause: pauseJson(pause) }, json, () =>
        outcome === 'already_paused'
          ? already
          : `${kind} ${target} ${dryRun ? 'would be' : 'is'} paused: ${TARGETS[kind].told}${undone(dryRun)}`,
      );
    });
}

function oneResume(kind: PauseKind): Command {
  return withOptions(new Command(kind), kind)
    .description(`resume a ${kind}`)
    .action(async (target: string, options: ByHand, command: Command) => {
      const { reason, actor, json = false } = options;
      const dryRun = options.dryRun === true;
      const resumed = await acting(dryRun, (ctx) => resumeTarget(ctx, { kind, target, reason, actor }));
      if (resumed.outcome === 'unknown_target') return command.error(unknownText(kind, target, resumed));
      const { outcome } = resumed;
      const [pause, due] = outcome === 'resumed' ? [pauseJson(resumed.pause), resumed.due] : [null, 0];
      show({ outcome, dry_run: dryRun, pause, generations_due: due }, json, () =>
        outcome === 'not_paused'
          ? `${kind} ${target} is not paused.`
          : `${kind} ${target} ${dryRun ? 'would be' : 'is'} resumed: ${due} waiting generations go on${undone(dryRun)}`,
      );
    });
}

function withOptions(command: Command, kind: PauseKind): Command {
  return command
    .argument(`<${kind}>`, TARGETS[kind].argument)
    .requiredOption('--reason <text>', 'for the record', sentence)
    .addOption(actorOption())
    .option('--dry-run', 'tell what would happen, change nothing')
    .option('--json', 'one JSON object instead of text');
}

/** The catalogue says which providers and models there are. */
function acting<T>(dryRun: boolean, act: (ctx: PauseContext) => Promise<T>): Promise<T> {
  const { catalogue } = loadProviderConfig(commandEnvironment());
  return withContext(({ db }) =>
    operate({ db, starter: { enqueue: () => true } }, dryRun, (ctx) => act({ db: ctx.db, catalogue })),
  );
}

function unknownText(kind: PauseKind, target: string, { known }: UnknownTarget): string {
  const advice =
    known.length > 0 ? `use one of ${known.join(', ')}` : '"darkroom tenant list" shows all of them';
  return `There is no ${kind} "${target}": ${advice}.`;
}

function undone(dryRun: boolean): string {
  return dryRun ? '; nothing was changed' : '';
}

function pauseJson({ kind, target, reason, actor, createdAt }: Pause) {
  return { kind, target, reason, actor, created_at: createdAt.toISOString() };
}
