import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { enableEndpoint, redeliverAsOperator, redeliverEndpoint } from '../services/operate-webhooks.ts';
import { show, withContext } from './context.ts';
import { actorOption, sentence } from './options.ts';

interface ActionOptions {
  readonly reason: string;
  readonly actor: string;
  readonly dryRun?: true;
  readonly json?: boolean;
}

function withActionOptions(command: Command): Command {
  return command
    .requiredOption('--reason <text>', 'for the record', sentence)
    .addOption(actorOption())
    .option('--dry-run', 'tell what would happen, change nothing')
    .option('--json', 'one JSON object instead of text');
}

/** `darkroom webhook enable`: an endpoint that was disabled takes messages again. */
export function describeEnable(command: Command): Command {
  return withActionOptions(
    command
      .description('enable an endpoint; what it missed stays held until it is sent again')
      .argument('<id>', 'whe_…'),
  ).action(async (id: string, { reason, actor, json = false, ...options }: ActionOptions, self: Command) => {
    const dryRun = options.dryRun === true;
    const outcome = await withContext(({ db }) =>
      enableEndpoint({ db }, { endpointId: id, reason, actor, dryRun }),
    );
    if (outcome === 'not_found') return self.error(noEndpoint(id), { exitCode: 1 });
    show({ id, dry_run: dryRun, outcome }, json, () =>
      dryRun
        ? `${id} would be enabled; nothing was changed`
        : `${id} enabled. What it missed is still held: npx darkroom webhook redeliver --endpoint ${id} --since TIME --reason "…"`,
    );
  });
}

interface RedeliverOptions extends ActionOptions {
  readonly endpoint?: string;
  readonly since?: string;
  readonly all?: true;
}

/** `darkroom webhook redeliver`: one delivery, or what an endpoint missed. */
export function describeRedeliver(command: Command): Command {
  return withActionOptions(
    command
      .description('send one delivery again, or all that an endpoint missed since a time')
      .argument('[id]', 'whd_…')
      .option('--endpoint <id>', 'what this endpoint missed, with --since')
      .option('--since <time>', 'from this time on, ISO 8601 with its zone', isoTime)
      .option('--all', 'with --endpoint: also what it took'),
  ).action(async (id: string | undefined, options: RedeliverOptions, self: Command) => {
    const { endpoint, since } = options;
    if (id !== undefined && endpoint === undefined && since === undefined && options.all === undefined) {
      return redeliverOne(id, options, self);
    }
    if (id === undefined && endpoint !== undefined && since !== undefined) {
      return redeliverMany(endpoint, since, options, self);
    }
    return self.error('Name one delivery (whd_…), or an endpoint by --endpoint with --since.', {
      exitCode: 2,
    });
  });
}

async function redeliverOne(id: string, options: RedeliverOptions, self: Command): Promise<void> {
  const { reason, actor, json = false } = options;
  const dryRun = options.dryRun === true;
  const result = await withContext((ctx) => redeliverAsOperator(ctx, { id, reason, actor, dryRun }));
  if (result.outcome !== 'redelivering') {
    return self.error(refusal(result, `There is no delivery ${id}: see "darkroom webhook deliveries".`), {
      exitCode: 1,
    });
  }
  show({ ...result.delivery, dry_run: dryRun }, json, () =>
    dryRun ? `${id} would be sent again; nothing was changed` : `${id} is sent again`,
  );
}

async function redeliverMany(
  endpointId: string,
  since: string,
  options: RedeliverOptions,
  self: Command,
): Promise<void> {
  const { reason, actor, json = false } = options;
  const dryRun = options.dryRun === true;
  const result = await withContext(({ db }) =>
    redeliverEndpoint({ db }, { endpointId, since, all: options.all === true, dryRun, reason, actor }),
  );
  if (result.outcome !== 'redelivering') {
    return self.error(refusal(result, noEndpoint(endpointId)), { exitCode: 1 });
  }
  const { count, next } = result;
  show({ endpoint: endpointId, dry_run: dryRun, count, next_since: next }, json, () =>
    [
      dryRun ? `${count} would be sent again; nothing was changed` : `${count} are sent again`,
      ...(next === null ? [] : [`There are more: the same again with --since ${next}`]),
    ].join('\n'),
  );
}

function refusal(
  {
    outcome,
    endpointId,
  }: Exclude<Awaited<ReturnType<typeof redeliverEndpoint>>, { outcome: 'redelivering' }>,
  notFound: string,
): string {
  return {
    not_found: notFound,
    endpoint_disabled: `The endpoint is disabled: enable it first, when it works again: npx darkroom webhook enable ${endpointId} --reason "…"`,
    endpoint_deleted: 'Its endpoint was deleted: what went there is not sent again.',
  }[outcome];
}

const noEndpoint = (id: string): string => `There is no endpoint ${id}: see "darkroom webhook endpoints".`;

function isoTime(text: string): string {
  const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  const date = text.slice(0, 10);
  // The parser takes 30 February for 2 March.
  if (Number.isNaN(ms) || new Date(`${date}T00:00Z`).toISOString().slice(0, 10) !== date) {
    throw new InvalidArgumentError(
      'Write an ISO 8601 time that exists, with its zone, for example 2026-11-29T12:00:00Z.',
    );
  }
  return new Date(ms).toISOString();
}
