import { Command, Option } from 'commander';
import { DELIVERY_STATES } from '../domain/webhook-view.ts';
import { listDeliveries, showDelivery } from '../services/operate-webhooks.ts';
import { show, table, withContext } from './context.ts';
import { rows } from './options.ts';
import { describeEnable, describeRedeliver } from './webhook-actions.ts';
import { describeEndpoints } from './webhook-endpoints.ts';

/** `darkroom webhook`: what tenants are told, and where it got stuck. */
export function webhookCommand(): Command {
  return new Command('webhook')
    .description('webhooks to tenants: endpoints, deliveries, send again')
    .addCommand(describeEndpoints(new Command('endpoints')))
    .addCommand(describeEnable(new Command('enable')))
    .addCommand(deliveriesCommand())
    .addCommand(showCommand())
    .addCommand(describeRedeliver(new Command('redeliver')));
}

interface DeliveriesOptions {
  readonly tenant?: string;
  readonly endpoint?: string;
  readonly generation?: string;
  readonly state?: string;
  readonly limit: number;
  readonly json?: boolean;
}

function deliveriesCommand(): Command {
  return new Command('deliveries')
    .description('the newest deliveries, newest first')
    .option('--tenant <id>', 'of this tenant only')
    .option('--endpoint <id>', 'to this endpoint only')
    .option('--generation <id>', 'of this generation only')
    .addOption(new Option('--state <state>', 'in this state only').choices(DELIVERY_STATES))
    .option('--limit <rows>', 'at most 1000', rows, 50)
    .option('--json', 'one JSON array instead of a table')
    .action(async (options: DeliveriesOptions) => {
      const { data } = await withContext((ctx) =>
        listDeliveries(ctx, {
          tenantId: options.tenant,
          endpointId: options.endpoint,
          generationId: options.generation,
          state: options.state,
          limit: options.limit,
        }),
      );
      show(data, options.json === true, () =>
        data.length === 0
          ? 'No such delivery.'
          : table(
              [
                [
                  'delivery',
                  'created',
                  'type',
                  'generation',
                  'receiver',
                  'state',
                  'attempts',
                  'last',
                  'next attempt',
                ],
                ...data.map((one) => [
                  one.id,
                  one.created_at,
                  one.type,
                  one.generation_id ?? '',
                  one.receiver ?? '',
                  one.state,
                  `${one.attempts}`,
                  lastOf(one.last_status, one.last_problem),
                  one.next_attempt_at ?? '',
                ]),
              ],
              [6],
            ),
      );
    });
}

function showCommand(): Command {
  return new Command('show')
    .description('one delivery with its attempts, but not what the receiver answered')
    .argument('<id>', 'whd_…')
    .option('--json', 'one JSON object instead of text')
    .action(async (id: string, { json = false }: { json?: boolean }, self: Command) => {
      const found = await withContext((ctx) => showDelivery(ctx, id));
      if (found === null) {
        return self.error(`There is no delivery ${id}: see "darkroom webhook deliveries".`, { exitCode: 1 });
      }
      show(found, json, () =>
        [
          table(
            [
              ['delivery', found.id],
              ['type', found.type],
              ['webhook-id', found.event_id],
              ['generation', found.generation_id ?? ''],
              ['run', found.temporal_url ?? ''],
              ['tenant', found.tenant],
              ['endpoint', found.endpoint_id ?? 'the callback_url of the generation'],
              ['receiver', found.receiver ?? ''],
              ['state', `${found.state} after ${found.attempts} attempt${found.attempts === 1 ? '' : 's'}`],
              ['next attempt', found.next_attempt_at ?? ''],
              ['delivered', found.delivered_at ?? ''],
              ...found.tries.map((attempt) => [
                `attempt ${attempt.attempt}`,
                [
                  attempt.at,
                  `${attempt.duration_ms} ms`,
                  lastOf(attempt.status, attempt.problem),
                  attempt.advice ?? '',
                ]
                  .filter((part) => part !== '')
                  .join(', '),
              ]),
            ].filter(([, value]) => value !== ''),
          ),
          '',
          `Next: ${adviceOf(found)}`,
        ].join('\n'),
      );
    });
}

function adviceOf({
  id,
  state,
  endpoint_id: endpoint,
}: {
  id: string;
  state: string;
  endpoint_id: string | null;
}) {
  switch (state) {
    case 'delivered':
      return 'Nothing is to be done: it was taken.';
    case 'pending':
      return 'Nothing is to be done: it is tried again by its schedule.';
    case 'held':
      return `The endpoint is disabled: enable it when it works again, then send this again. Run: npx darkroom webhook enable ${endpoint} --reason "…"`;
    case 'cancelled':
      return 'Nothing can be done: its endpoint was deleted.';
    default:
      return `Its schedule is over: send it again when the receiver works. Run: npx darkroom webhook redeliver ${id} --reason "…"`;
  }
}

function lastOf(status: number | null, problem: string | null): string {
  return [status === null ? '' : `${status}`, problem ?? ''].filter((part) => part !== '').join(' ');
}
