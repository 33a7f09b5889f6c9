import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { rotateLinks } from '../db/index.ts';
import { show, withContext } from './context.ts';
import { actorOption, sentence } from './options.ts';

interface LinkOptions {
  readonly overlapHours: number;
  readonly reason: string;
  readonly actor: string;
  readonly json?: boolean;
}

const HOUR_MS = 3_600_000;
/** As long as a link lives at most. */
const MAX_OVERLAP_HOURS = 168;

/** `darkroom tenant rotate-links`: a new key for the links of a tenant, after one has leaked. */
export function describeRotateLinks(command: Command): Command {
  return command
    .description(
      'sign the links of a tenant with a new key; those made before work for the overlap, still older ones end now',
    )
    .argument('<tenant>', 'ten_…')
    .option('--overlap-hours <n>', `from 0 (they end now) to ${MAX_OVERLAP_HOURS}`, overlap, 24)
    .option('--reason <text>', 'for the record', sentence, 'rotation asked for')
    .addOption(actorOption())
    .option('--json', 'one JSON object instead of text')
    .action(async (tenant: string, options: LinkOptions, self: Command) => {
      const { overlapHours, reason, actor, json = false } = options;
      const known = await withContext(({ db }) =>
        rotateLinks(db, { tenantId: tenant, overlapMs: overlapHours * HOUR_MS, actor, reason }),
      );
      if (!known) return self.error(`There is no tenant ${tenant}: see "darkroom tenant list".`);
      show({ tenant, overlap_hours: overlapHours }, json, () =>
        overlapHours === 0
          ? `${tenant}: links have a new key; all made before have ended`
          : `${tenant}: links have a new key; those made before work for ${overlapHours} hours more`,
      );
    });
}

function overlap(text: string): number {
  const value = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= MAX_OVERLAP_HOURS)) {
    throw new InvalidArgumentError(`Write a whole number of hours from 0 to ${MAX_OVERLAP_HOURS}.`);
  }
  return value;
}
