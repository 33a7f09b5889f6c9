import { Command, InvalidArgumentError } from 'commander';
import { REPORT_COLUMNS, type ReportColumn } from '../db/report.ts';
import { reportUsage } from '../services/report-usage.ts';
import { show, withContext } from './context.ts';
import { day } from './options.ts';
import { reportText } from './report-text.ts';

interface ReportOptions {
  readonly from?: string;
  readonly to?: string;
  readonly by: readonly ReportColumn[];
  readonly tenant?: string;
  readonly json?: boolean;
}

const DEFAULT_COLUMNS: readonly ReportColumn[] = ['tenant', 'account', 'model', 'day'];

function columns(text: string): readonly ReportColumn[] {
  const names = text.split(',').map((name) => name.trim());
  return names.map((name) => {
    const column = REPORT_COLUMNS.find((known) => known === name);
    if (column === undefined)
      throw new InvalidArgumentError(`Write some of ${REPORT_COLUMNS.join(',')}, separated by commas.`);
    return column;
  });
}

/** `darkroom report`: credits and provider costs of a time, and what a person should look into. */
export function reportCommand(): Command {
  return new Command('report')
    .description('credits captured and refunded, provider costs, and what to look into, over UTC days')
    .option('--from <day>', 'first day, YYYY-MM-DD; 6 days before the last one when left out', day)
    .option('--to <day>', 'last day, itself included; today when left out', day)
    .option('--by <columns>', `what to group by: ${REPORT_COLUMNS.join(',')}`, columns, DEFAULT_COLUMNS)
    .option('--tenant <id>', 'of this tenant only')
    .option('--json', 'one JSON object instead of a table')
    .addHelpText(
      'after',
      '\nA generation belongs to the day it was created, a capture or refund to its own day (succeeded = captured),\n' +
        'a provider cost to the day its submission was first sent, whenever it became known. Costs are exact, per unit,\n' +
        'final amounts and estimates apart; failed, failed-over, unknown and orphan jobs are included.\n' +
        'Credits stand at the provider that a generation went to last, costs where they arose.',
    )
    .action(async (options: ReportOptions, command: Command) => {
      const found = await withContext((ctx) =>
        reportUsage(ctx, {
          from: options.from ?? null,
          to: options.to ?? null,
          by: options.by,
          tenantId: options.tenant ?? null,
        }),
      );
      switch (found.outcome) {
        case 'reported':
          return show(found.report, options.json === true, () => reportText(found.report));
        case 'unknown_tenant':
          return command.error(`There is no tenant ${options.tenant}: see "darkroom tenant list".`);
        case 'ends_before_it_begins':
          return command.error(
            `The report would end (${found.to}) before it begins (${found.from}): change --from or --to.`,
            { exitCode: 2 },
          );
        case 'too_long':
          return command.error(`A report covers at most ${found.maxDays} days: ask for it in parts.`, {
            exitCode: 2,
          });
        case 'too_many_rows':
          return command.error(
            `The report has more than ${found.maxRows} rows: choose fewer days, one --tenant, or fewer --by.`,
          );
      }
    });
}
