/** What the sweep does in turns: what is due, unread callbacks, lost runs, providers' lists, looks after the end, retention, invariants. */
export const SWEEP_PASSES = [
  'due',
  'inbox',
  'runs',
  'jobs',
  'late',
  'files',
  'history',
  'invariants',
] as const;
export type SweepPass = (typeof SWEEP_PASSES)[number];

/** What a pass could not do or found amiss; it is tried again, and stops nothing else. */
export const SWEEP_PROBLEMS = [
  'pass_failed',
  /** Temporal is away: the pass ended, its rows come again. */
  'temporal_unavailable',
  'ensure_failed',
  'unreadable_row',
  'list_unavailable',
  'job_not_matched',
  'job_taken',
  'file_not_removed',
  /** A job that nobody gets any more has succeeded: it is paid for. */
  'late_success',
  'invariant_violated',
] as const;
export type SweepProblem = (typeof SWEEP_PROBLEMS)[number];

/** What passes count, by the names that `darkroom sweep --json` and the metrics use, with what each means. */
export const SWEEP_COUNTS = {
  due_woken: 'Overdue rows, or wakes that nobody took, whose run was woken or started again.',
  rows_parked: 'Rows that cannot be read, set aside for an operator.',
  rows_set_aside: 'Overdue rows whose run could not be woken; each is tried again after a growing pause.',
  unseen_woken: 'Runs woken for callbacks that nobody had read; it should be 0.',
  runs_checked: 'Runs of waiting generations that Temporal was asked for.',
  runs_ensured: 'Those that were closed or gone and have been started again.',
  jobs_listed: 'Jobs in the lists of providers that were compared with our rows.',
  jobs_matched: 'Those that were attached to a submission whose answer was lost.',
  orphan_jobs: 'Second jobs of a submission: their cost is ours.',
  stray_jobs: 'Jobs with our signature of which we have no row: their cost is ours.',
  late_observed: 'Jobs of ended generations that were looked at, since nobody knew of their end.',
  files_removed: 'Files removed whose time was over or whose deletion was asked for.',
  rows_pruned: 'Rows of old history removed.',
  violations: 'Rows that violate an invariant, among what changed of late; it must be 0.',
} as const;
export type SweepCount = keyof typeof SWEEP_COUNTS;
export const SWEEP_COUNT_NAMES = Object.keys(SWEEP_COUNTS) as readonly SweepCount[];
