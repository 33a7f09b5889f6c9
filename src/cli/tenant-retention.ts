import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { setRetention } from '../db/index.ts';
import { show, withContext } from './context.ts';
import { actorOption, sentence } from './options.ts';

interface RetentionOptions {
  readonly reason: string;
  readonly actor: string;
  readonly json?: boolean;
}

const MIN_HOURS = 24;
const MAX_HOURS = 87_600;
const DEFAULT_DAYS = 30;

/** `darkroom tenant retention`: how long the outputs and uploads of a tenant are kept. */
export function describeRetention(command: Command): Command {
  return command
    .description('how long outputs and uploads of a tenant are kept that are stored from now on')
    .argument('<tenant>', 'ten_…')
    .argument('<hours>', `from ${MIN_HOURS} to ${MAX_HOURS}, or default: ${DEFAULT_DAYS} days`, hours)
    .option('--reason <text>', 'for the record', sentence, 'retention asked for')
    .addOption(actorOption())
    .option('--json', 'one JSON object instead of text')
    .action(async (tenant: string, given: number | 'default', options: RetentionOptions, self: Command) => {
      const { reason, actor, json = false } = options;
      const retentionHours = given === 'default' ? null : given;
      const known = await withContext(({ db }) =>
        setRetention(db, { tenantId: tenant, retentionHours, actor, reason }),
      );
      if (!known) return self.error(`There is no tenant ${tenant}: see "darkroom tenant list".`);
      const kept = retentionHours === null ? `${DEFAULT_DAYS} days, the default` : `${retentionHours} hours`;
      show(
        { tenant, retention_hours: retentionHours },
        json,
        () => `${tenant}: kept for ${kept}, from now on`,
      );
    });
}

function hours(text: string): number | 'default' {
  if (text === 'default') return text;
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= MIN_HOURS && value <= MAX_HOURS)) {
    throw new InvalidArgumentError(
      `Write a whole number of hours from ${MIN_HOURS} to ${MAX_HOURS}, or default.`,
    );
  }
  return value;
}
