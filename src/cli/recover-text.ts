import type { Provider } from '../domain/provider.ts';
import type { RecoveredRow, RecoverInput, RecoverReport } from '../services/recover-generations.ts';
import { table } from './context.ts';

/** The report for programs. */
export function recoverJson(report: RecoverReport, { restoredAt, dryRun }: RecoverInput): object {
  const { rows, untouched, younger, failed, gone } = report;
  return {
    restored_at: restoredAt.toISOString(),
    dry_run: dryRun,
    generations: rows,
    untouched,
    younger,
    failed,
    runs_without_row: gone,
  };
}

/** The report as people read it, with what comes next. */
export function recoverText(
  report: RecoverReport,
  { dryRun }: RecoverInput,
  adapters: ReadonlyMap<string, Provider>,
): string {
  const { rows, untouched, younger, failed, gone } = report;
  const header = ['submission', 'provider', 'in the dump', 'now', 'job', 'next'];
  const lines = rows.map((row) => [
    row.submission,
    row.provider,
    row.was,
    row.now,
    row.jobs
      .map(({ jobId, outcome }) => (outcome === 'attached' ? jobId : `${jobId} (${outcome})`))
      .join(', ') || '-',
    nextOf(row, adapters.get(row.provider)),
  ]);
  return [
    rows.length === 0 ? 'No generation may have been submitted since the dump.' : table([header, ...lines]),
    ...failed.map(({ generation, problem }) => `${generation} could not be recovered: ${problem}`),
    `${untouched} other open generations go on as they are${younger === 0 ? '' : `, ${younger} younger ones too`}.`,
    ...goneText(gone),
    dryRun
      ? 'Nothing was changed.'
      : 'Next: "darkroom doctor", then start API and workers; "darkroom generation list --stage submission_unknown" shows what is still searched for.',
  ].join('\n');
}

function nextOf({ now, provider }: RecoveredRow, adapter: Provider | undefined): string {
  if (now === 'attached') return 'it is observed and delivered';
  if (adapter === undefined) return `set the PROVIDER_… variables of ${provider}`;
  const { idempotency, list, callbacks } = adapter.capabilities;
  if (idempotency === 'replay') return 'asked again with the same key and bytes';
  if (idempotency === 'lookup') return 'looked up by our id';
  if (list) return 'searched for in its list, or its callback names it';
  if (callbacks !== 'none')
    return 'its callback names it; else look into its console, or the deadline ends it';
  return 'look into its console and attach the job by hand, or the deadline ends it';
}

function goneText(gone: RecoverReport['gone']): string[] {
  if (gone.length === 0) return [];
  return [
    `${gone.length} runs are of generations that this database has never seen; they end by themselves:`,
    ...gone.map(({ generation, jobs }) => {
      const strays = jobs.flatMap((job) => (job.outcome === 'stray' ? [`${job.provider} ${job.jobId}`] : []));
      return `  ${generation}  ${strays.length === 0 ? 'no new job of it is known' : `${strays.join(', ')}: on record as a stray job, see "darkroom report"`}`;
    }),
  ];
}
