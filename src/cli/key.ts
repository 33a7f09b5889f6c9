import { randomUUID } from 'node:crypto';
import { Command, Option } from 'commander';
import { SCOPES } from '../domain/api-key.ts';
import type { Scope } from '../domain/api-key.ts';
import { dropKey, listKeys, makeKey } from '../services/manage-keys.ts';
import { show, table, withContext } from './context.ts';
import { actorOption, rows, sentence } from './options.ts';

interface CreateOptions {
  readonly tenant?: string;
  readonly scope: Scope[];
  readonly label: string;
  readonly reason: string;
  readonly actor: string;
  readonly json?: boolean;
}

/** `darkroom key`: API keys; the text of a new one is shown once. */
export function keyCommand(): Command {
  return new Command('key')
    .description('API keys')
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(revokeCommand());
}

function createCommand(): Command {
  return new Command('create')
    .description('a new key, shown once; only its SHA-256 is stored')
    .option('--tenant <id>', 'the tenant that it belongs to; none with --scope admin')
    .addOption(new Option('--scope <scope...>', 'what it may do').choices(SCOPES).default(['generations']))
    .option('--label <text>', 'for your own list', '')
    .option('--reason <text>', 'for the record', sentence, 'not given')
    .addOption(actorOption())
    .option('--json', 'one JSON object instead of text')
    .action(async (options: CreateOptions, command: Command) => {
      const { tenant, scope, label, reason, actor, json = false } = options;
      if ((tenant === undefined) !== scope.includes('admin')) {
        command.error(
          "A key is either a tenant's (--tenant ten_…) or an operator's (--scope admin, without --tenant).",
          { exitCode: 2 },
        );
      }
      const made = await withContext((ctx) =>
        makeKey(ctx, {
          idempotencyKey: randomUUID(),
          tenantId: tenant ?? null,
          scopes: scope,
          label,
          expiresAt: null,
          reason,
          actor,
        }),
      );
      if (made.outcome === 'unknown_tenant') {
        return command.error(`There is no tenant ${tenant}: see "darkroom tenant list".`, { exitCode: 1 });
      }
      if (made.outcome !== 'created') throw new Error(`A new key was not made: ${made.outcome}.`);
      const { key, text } = made;
      show(
        { id: key.id, key: text },
        json,
        () => `${text}\n\nKeep it now: it is not shown again. Revoke it by its id: ${key.id}`,
      );
    });
}

function listCommand(): Command {
  return new Command('list')
    .description('keys, newest first, revoked ones too; never the keys themselves')
    .option('--tenant <id>', 'of this tenant only')
    .option('--limit <rows>', 'at most 1000', rows, 50)
    .option('--json', 'one JSON array instead of a table')
    .action(async (options: { tenant?: string; limit: number; json?: boolean }) => {
      const { tenant: tenantId, limit, json = false } = options;
      const { rows: keys } = await withContext((ctx) => listKeys(ctx, { tenantId, limit }));
      const views = keys.map((key) => ({
        id: key.id,
        tenant: key.tenantId,
        scopes: key.scopes,
        label: key.label,
        created_at: key.createdAt.toISOString(),
        expires_at: key.expiresAt?.toISOString() ?? null,
        revoked_at: key.revokedAt?.toISOString() ?? null,
      }));
      show(views, json, () =>
        views.length === 0
          ? 'No such key.'
          : table([
              ['key', 'tenant', 'scopes', 'created', 'revoked', 'label'],
              ...views.map((view) => [
                view.id,
                view.tenant ?? 'operator',
                view.scopes.join(' '),
                view.created_at,
                view.revoked_at ?? '',
                view.label,
              ]),
            ]),
      );
    });
}

function revokeCommand(): Command {
  return new Command('revoke')
    .description('refuse a key from now on')
    .argument('<id>', 'the 16 characters between dk_ and the next _')
    .option('--reason <text>', 'for the record', sentence, 'not given')
    .addOption(actorOption())
    .option('--json', 'one JSON object instead of text')
    .action(
      async (
        id: string,
        { reason, actor, json = false }: { reason: string; actor: string; json?: boolean },
        command: Command,
      ) => {
        const { outcome } = await withContext((ctx) => dropKey(ctx, { id, reason, actor, own: true }));
        if (outcome !== 'revoked') command.error(`There is no live key ${id}.`, { exitCode: 1 });
        show({ id, outcome }, json, () => `revoked ${id}`);
      },
    );
}
