import { Command, Option } from 'commander';
import { revokeApiKey } from '../db/index.ts';
import { SCOPES } from '../domain/api-key.ts';
import type { Scope } from '../domain/api-key.ts';
import { createApiKey } from '../services/create-api-key.ts';
import { show, withContext } from './context.ts';

interface CreateOptions {
  readonly tenant?: string;
  readonly scope: Scope[];
  readonly label: string;
  readonly json?: boolean;
}

/** `darkroom key`: API keys; the text of a new one is shown once. */
export function keyCommand(): Command {
  return new Command('key').description('API keys').addCommand(createCommand()).addCommand(revokeCommand());
}

function createCommand(): Command {
  return new Command('create')
    .description('a new key, shown once; only its SHA-256 is stored')
    .option('--tenant <id>', 'the tenant that it belongs to; none with --scope admin')
    .addOption(new Option('--scope <scope...>', 'what it may do').choices(SCOPES).default(['generations']))
    .option('--label <text>', 'for your own list', '')
    .option('--json', 'one JSON object instead of text')
    .action(async ({ tenant, scope, label, json = false }: CreateOptions, command: Command) => {
      if ((tenant === undefined) !== scope.includes('admin')) {
        command.error(
          "A key is either a tenant's (--tenant ten_…) or an operator's (--scope admin, without --tenant).",
          { exitCode: 2 },
        );
      }
      const key = await withContext((ctx) =>
        createApiKey(ctx, { tenantId: tenant ?? null, scopes: scope, label }),
      );
      show(
        { id: key.id, key: key.text },
        json,
        () => `${key.text}\n\nKeep it now: it is not shown again. Revoke it by its id: ${key.id}`,
      );
    });
}

function revokeCommand(): Command {
  return new Command('revoke')
    .description('refuse a key from now on')
    .argument('<id>', 'the 16 characters between dk_ and the next _')
    .action(async (id: string, _options: object, command: Command) => {
      const revoked = await withContext(({ db }) => revokeApiKey(db, id));
      if (!revoked) command.error(`There is no live key ${id}.`, { exitCode: 1 });
      process.stdout.write(`revoked ${id}\n`);
    });
}
