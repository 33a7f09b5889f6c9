import { Command } from 'commander';
import { listCallbacks, showCallback } from '../services/list-callbacks.ts';
import { show, table, withContext } from './context.ts';
import { providerName, rows } from './options.ts';

interface ListOptions {
  readonly provider?: string;
  readonly submission?: string;
  readonly generation?: string;
  readonly job?: string;
  readonly unmatched?: true;
  readonly unseen?: true;
  readonly limit: number;
  readonly json?: boolean;
}

/** `darkroom inbox`: the callbacks of providers. */
export function inboxCommand(): Command {
  return new Command('inbox')
    .description('callbacks of providers, as they came')
    .addCommand(listCommand())
    .addCommand(showCommand());
}

function listCommand(): Command {
  return new Command('list')
    .description('the newest callbacks, newest first, without their bodies')
    .option('--provider <name>', 'from this provider only', providerName)
    .option('--submission <id>', 'of this submission only')
    .option('--generation <id>', 'of the submissions of this generation only')
    .option('--job <id>', 'those that name this job of a provider')
    .option('--unmatched', 'those that name a job which we do not know (yet)')
    .option('--unseen', 'those that no run has taken yet')
    .option('--limit <rows>', 'at most 1000', rows, 50)
    .option('--json', 'one JSON array instead of a table')
    .action(async (options: ListOptions) => {
      const { data } = await withContext((ctx) =>
        listCallbacks(ctx, {
          provider: options.provider,
          submissionId: options.submission,
          generationId: options.generation,
          jobId: options.job,
          unmatched: options.unmatched === true,
          unseen: options.unseen === true,
          limit: options.limit,
        }),
      );
      show(data, options.json === true, () =>
        data.length === 0
          ? 'No such callback.'
          : table([
              ['callback', 'received', 'provider', 'type', 'end', 'taken by the run', 'submission', 'job'],
              ...data.map((one) => [
                one.id,
                one.received_at,
                one.provider,
                one.type,
                one.terminal ? 'yes' : '',
                one.seen_at ?? 'not yet',
                one.submission ?? 'unmatched',
                one.job_id ?? '',
              ]),
            ]),
      );
    });
}

function showCommand(): Command {
  return new Command('show')
    .description('one callback; its body, which may hold what the tenant made, only with --body')
    .argument('<id>', 'cbk_…')
    .option('--body', 'also the body, as it came, without the token of our URL')
    .option('--json', 'one JSON object instead of text')
    .action(async (id: string, options: { body?: true; json?: boolean }, self: Command) => {
      const found = await withContext((ctx) => showCallback(ctx, { id, body: options.body === true }));
      if (found === null) {
        return self.error(`There is no callback ${id}: see "darkroom inbox list".`, { exitCode: 1 });
      }
      const { callback } = found;
      const body = found.body === null ? null : Buffer.from(found.body).toString('utf8');
      show({ ...callback, ...(body === null ? {} : { body }) }, options.json === true, () =>
        [
          table(
            [
              ['callback', callback.id],
              ['received', callback.received_at],
              ['provider', `${callback.provider}, credential ${callback.credential}`],
              ['type', `${callback.type}${callback.terminal ? ', an end' : ''}`],
              ['progress', callback.progress === null ? '' : `${Math.round(callback.progress * 100)} %`],
              ['job', callback.job_id ?? ''],
              ['submission', callback.submission ?? 'unmatched: no submission of ours has this job (yet)'],
              ['generation', callback.generation ?? ''],
              ['run', callback.temporal_url ?? ''],
              ['taken by the run', callback.seen_at ?? 'not yet'],
              ['body', `${callback.bytes} bytes${body === null ? ' (--body prints them)' : ''}`],
            ].filter(([, value]) => value !== ''),
          ),
          ...(body === null ? [] : ['', body]),
        ].join('\n'),
      );
    });
}
