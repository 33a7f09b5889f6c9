import { Option } from 'commander';
import type { Command } from 'commander';
import type { Db, Resolved, RunFacts } from '../db/index.ts';
import { asTrial } from '../db/transaction.ts';
import { GENERATION_ERRORS } from '../domain/errors.ts';
import type { FailedCode } from '../domain/errors.ts';
import { resolveGeneration } from '../services/resolve-generation.ts';
import { ensureRunning } from '../temporal/ensure-running.ts';
import { show, withContext } from './context.ts';
import type { CliContext } from './context.ts';
import { actorOption, sentence } from './options.ts';

interface ResolveOptions {
  readonly state: 'failed' | 'succeeded';
  readonly errorCode?: FailedCode;
  readonly reason: string;
  readonly actor: string;
  readonly dryRun?: true;
  readonly json?: boolean;
}

const DEFAULT_CODE: FailedCode = 'provider_failed';
const CODES = Object.keys(GENERATION_ERRORS).filter(
  (code) => code !== 'deadline_exceeded' && code !== 'submission_unresolved',
);

/** `darkroom generation resolve`: the end of a generation by a person, as far as its rows allow it. */
export function describeResolve(command: Command): Command {
  return command
    .description(
      'end a generation by hand: failed releases its credits, succeeded charges for what is stored',
    )
    .argument('<id>', 'gen_…')
    .addOption(
      new Option('--state <state>', 'how it ends').choices(['failed', 'succeeded']).makeOptionMandatory(),
    )
    .addOption(
      new Option(
        '--error-code <code>',
        `what the tenant reads with failed; ${DEFAULT_CODE} when left out, and after a success of the provider the outputs decide`,
      ).choices(CODES),
    )
    .requiredOption('--reason <text>', 'for the record', sentence)
    .addOption(actorOption())
    .option('--dry-run', 'tell what would happen, change nothing')
    .option('--json', 'one JSON object instead of text')
    .action(async (id: string, options: ResolveOptions, self: Command) => {
      if (options.state === 'succeeded' && options.errorCode !== undefined) {
        return self.error('--error-code belongs to --state failed.', { exitCode: 2 });
      }
      const { resolved, released, woken, temporalUrl } = await withContext(async (ctx) => ({
        ...(await resolve(ctx, id, options)),
        temporalUrl: ctx.runUrl(id),
      }));
      if (resolved.outcome !== 'resolved') return self.error(refusalOf(resolved, id));
      const { state, errorCode, captured } = resolved;
      const dryRun = options.dryRun === true;
      show(
        {
          id,
          dry_run: dryRun,
          state,
          error_code: errorCode,
          credits: { captured, released },
          run_woken: woken,
          temporal_url: temporalUrl,
        },
        options.json === true,
        () =>
          `${id} ${dryRun ? 'would end' : 'ended'} as ${state}${errorCode === null ? '' : `, ${errorCode}`}: ${captured} credits captured, ${released} released` +
          (dryRun ? '; nothing was changed' : ''),
      );
    });
}

async function resolve(
  ctx: CliContext,
  id: string,
  { dryRun, state, errorCode, reason, actor }: ResolveOptions,
) {
  const woken: RunFacts[] = [];
  const starter = {
    enqueue(run: RunFacts) {
      woken.push(run);
      return true;
    },
  };
  const end = async (db: Db) => {
    const code = state === 'failed' ? (errorCode ?? DEFAULT_CODE) : null;
    const resolved = await resolveGeneration({ db, starter }, { id, state, errorCode: code, reason, actor });
    const hold = await db.prisma.hold.findUnique({ where: { generationId: id } });
    return { resolved, released: hold === null ? 0 : Number(hold.amount - hold.captured) };
  };
  if (dryRun === true) return { ...(await asTrial(ctx.db, end)), woken: false };
  const ended = await end(ctx.db);
  const run = woken[0];
  return { ...ended, woken: run !== undefined && (await wake(ctx, run)) };
}

/** The row has ended in any case; the run finds that out when it looks next. */
async function wake(ctx: CliContext, run: RunFacts): Promise<boolean> {
  try {
    await ensureRunning(ctx.temporal, run, 'operator');
    return true;
  } catch {
    process.stderr.write('note: Temporal could not be reached, so the run ends when it looks next\n');
    return false;
  }
}

function refusalOf(resolved: Exclude<Resolved, { outcome: 'resolved' }>, id: string): string {
  switch (resolved.outcome) {
    case 'not_found':
      return `There is no generation ${id}.`;
    case 'already_terminal':
      return resolved.state === 'succeeded'
        ? `${id} has succeeded already; to give credits back, use "darkroom generation refund".`
        : `${id} has ended already as ${resolved.state}; its credits are released.`;
    case 'not_possible':
      return {
        sending: `A submit of ${id} is under way: try again when its answer is there, in less than a minute.`,
        downloading: `An output of ${id} is being stored right now: try again in a moment.`,
        outputs_stored: `Outputs of ${id} are stored, so it can't fail: resolve it as succeeded, then refund what is right.`,
        no_output_stored: `No output of ${id} is stored, so nothing can be charged: resolve it as failed.`,
      }[resolved.why];
  }
}
