import type { Command } from 'commander';
import { listEndpoints } from '../services/operate-webhooks.ts';
import { show, table, withContext } from './context.ts';
import { rows } from './options.ts';

interface EndpointsOptions {
  readonly tenant?: string;
  readonly troubled?: true;
  readonly limit: number;
  readonly json?: boolean;
}

/** `darkroom webhook endpoints`: where tenants want their webhooks, and how each is doing. */
export function describeEndpoints(command: Command): Command {
  return command
    .description('endpoints of tenants, newest first, with what waits, failed or is held')
    .option('--tenant <id>', 'of this tenant only')
    .option('--troubled', 'those that are disabled, or whose attempts all fail')
    .option('--limit <rows>', 'at most 1000', rows, 50)
    .option('--json', 'one JSON array instead of a table')
    .action(async ({ tenant, troubled, limit, json = false }: EndpointsOptions) => {
      const found = await withContext(({ db }) =>
        listEndpoints({ db }, { tenantId: tenant ?? null, troubled: troubled === true, limit }),
      );
      show(found, json, () =>
        found.length === 0
          ? 'No such endpoint.'
          : table(
              [
                ['endpoint', 'tenant', 'receiver', 'state', 'failing since', 'pending', 'failed', 'held'],
                ...found.map((one) => [
                  one.id,
                  one.tenant,
                  one.receiver ?? '',
                  one.state === 'disabled' ? `disabled (${one.disabled_reason})` : one.state,
                  one.failing_since ?? '',
                  `${one.pending}`,
                  `${one.failed}`,
                  `${one.held}`,
                ]),
              ],
              [5, 6, 7],
            ),
      );
    });
}
