import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { listTenants } from '../db/index.ts';
import { makeTenant } from '../services/manage-tenants.ts';
import { show, table, withContext } from './context.ts';
import { actorOption, sentence } from './options.ts';
import { describeRotateLinks } from './tenant-links.ts';
import { describeRetention } from './tenant-retention.ts';

interface Json {
  readonly json?: boolean;
}

interface ByOperator {
  readonly reason: string;
  readonly actor: string;
}

/** `darkroom tenant`: make and list customers, how long their files are kept, new keys for their links. */
export function tenantCommand(): Command {
  return new Command('tenant')
    .description('customers')
    .addCommand(
      new Command('create')
        .description('a new tenant with its default account')
        .argument('<name>', '1 to 200 characters, shown to operators')
        .option('--reason <text>', 'for the record', sentence, 'not given')
        .addOption(actorOption())
        .option('--json', 'one JSON object instead of text')
        .action(async (name: string, { reason, actor, json = false }: Json & ByOperator) => {
          const made = await withContext((ctx) =>
            makeTenant(ctx, { name, idempotencyKey: randomUUID(), reason, actor }),
          );
          if (made.outcome !== 'created') throw new Error(`A new tenant was not made: ${made.outcome}.`);
          show({ id: made.tenant.id }, json, () => made.tenant.id);
        }),
    )
    .addCommand(
      new Command('list')
        .description('all tenants')
        .option('--json', 'one JSON array instead of a table')
        .action(async ({ json = false }: Json) => {
          const tenants = await withContext(({ db }) => listTenants(db));
          show(tenants, json, () =>
            table(tenants.map(({ id, name, createdAt }) => [id, createdAt.toISOString(), name])),
          );
        }),
    )
    .addCommand(describeRetention(new Command('retention')))
    .addCommand(describeRotateLinks(new Command('rotate-links')));
}
