import type { Fault } from '../../src/simulators/faults.ts';
import type { Row } from './open-books.ts';
import type { Death, World } from './types.ts';

type Submission = Row['submissions'][number];
/** What was done; of the providers' faults only those that met a call. */
export type Faults = Pick<World, 'struck' | 'deaths' | 'disturbed' | 'providerFaults'>;

/** Clocks are read in several processes; a fault is noted a moment before or after it strikes. */
const SLACK_MS = 1_000;
/** From the last byte of a file under its own name to its row: a scan, and one statement that may wait for a lock. */
const NAMED_MS = 20_000;
/** From one byte of a download to the next, at most (IDLE_MS of a download). */
const BETWEEN_BYTES_MS = 30_000;
/** A submit that takes so long is given up on by us, with the times of `chaosCatalogue`. */
const SUBMIT_GIVEN_UP_MS = 4_000;
/** With these, commits or connections of ours to the database are lost. */
const OF_DATABASE = new Set(['postgres', 'terminate', 'lock']);

/** By how the row says that the answer was lost: what a provider does for it to be so. */
const ANSWERS_LOST: readonly { readonly problem: RegExp; readonly fits: (fault: Fault) => boolean }[] = [
  {
    problem: /^(reset|bad_answer|truncated)$/,
    fits: ({ kind }) => kind === 'reset_after_accept' || kind === 'answer_lost_then_ok',
  },
  {
    problem: /^http_5\d\d/,
    fits: ({ kind }) => kind === 'status_5xx_after_accept',
  },
  { problem: /^http_2\d\d:unreadable$/, fits: ({ kind }) => kind === 'missing_id' },
  {
    problem: /timeout/,
    fits: (fault) =>
      fault.kind === 'callback_before_answer' ||
      (fault.kind === 'slow_submit' && fault.ms >= SUBMIT_GIVEN_UP_MS),
  },
];

/** The same, where nothing was taken: the answer leaves open whether it was. */
const NOTHING_TAKEN: typeof ANSWERS_LOST = [
  { problem: /^(reset|bad_answer|truncated)$/, fits: ({ kind }) => kind === 'reset_before_accept' },
  {
    problem: /^http_/,
    fits: ({ kind }) => ['status_5xx', 'html', 'error_in_200', 'refuse', 'status_429'].includes(kind),
  },
];

const isDuring = (one: { readonly fromMs: number; readonly toMs: number }, fromMs: number, toMs: number) =>
  one.fromMs - SLACK_MS <= toMs && one.toMs + SLACK_MS >= fromMs;

/** The first fault of one of these kinds that was in force for this prompt by then; without `byMs`, at any time. */
export function faultFor(
  { providerFaults }: Faults,
  {
    provider,
    prompt,
    byMs = Infinity,
  }: { readonly provider: string; readonly prompt: string; readonly byMs?: number },
  fits: (fault: Fault) => boolean,
): Fault | undefined {
  return (providerFaults[provider] ?? []).find(
    (one) => prompt.includes(one.match?.prompt ?? '') && (one.fromMs ?? 0) <= byMs + SLACK_MS && fits(one),
  );
}

/** Whether the link to this provider was disturbed at some time between the two. */
export function isLinkDisturbed(world: Faults, provider: string, fromMs: number, toMs: number): boolean {
  return world.disturbed.some((one) => one.link === provider && isDuring(one, fromMs, toMs));
}

/** What can have kept a worker's call, or its record of the answer, from being known to the next one; null = nothing did. */
export function lostRecordOf(world: Faults, fromMs: number, toMs: number): string | null {
  const death = world.deaths.find(
    ({ slot, atMs }) => isWorker(slot) && isDuring({ fromMs: atMs, toMs: atMs }, fromMs, toMs),
  );
  if (death !== undefined) return `${death.slot} died`;
  const ended = world.struck.find(
    (one) => ['reset', 'temporal', 'term'].includes(one.name) && isDuring(one, fromMs, toMs),
  );
  return ended === undefined ? absentDatabase(world, fromMs, toMs) : `${ended.name}: ${ended.detail}`;
}

/**
 * What took the answer of this submission from us: the one fault of its provider for this prompt that the row's own words
 * fit, or a disturbed link, a dead worker or an absent database while it was sent. null = nothing did.
 * @param taken the provider has the job: no fault explains it that keeps jobs from being taken
 */
export function lostAnswerOf(
  world: Faults,
  submission: Submission,
  prompt: string,
  taken: boolean,
): string | null {
  const { provider, problem, firstSentAt, unknownAt, state } = submission;
  if (state !== 'unknown' || firstSentAt === null) return null;
  const words = problem ?? 'lease_over';
  const fromMs = firstSentAt.getTime();
  const toMs = unknownAt?.getTime() ?? fromMs;
  const table = taken ? ANSWERS_LOST : [...ANSWERS_LOST, ...NOTHING_TAKEN];
  const fault = faultFor(world, { provider, prompt, byMs: toMs }, (one) =>
    table.some((row) => row.problem.test(words) && row.fits(one)),
  );
  if (fault !== undefined) return `${provider}: ${fault.kind}`;
  const link = world.disturbed.find((one) => one.link === provider && isDuring(one, fromMs, toMs));
  if (link !== undefined && !words.startsWith('http_')) return `the link to ${provider} was disturbed`;
  if (words !== 'lease_over') return null;
  const death = world.deaths.find(
    ({ slot, atMs }) => isWorker(slot) && isDuring({ fromMs: atMs, toMs: atMs }, fromMs, toMs),
  );
  if (death !== undefined) return `${death.slot} died`;
  return absentDatabase(world, fromMs, toMs);
}

/** What kept a file that no row names from being removed, or named; null = nothing did. */
export function leftoverOf(world: Faults, path: string, writtenMs: number): string | null {
  const isTemporary = path.startsWith('tmp/');
  const death = world.deaths.find(
    ({ slot, atMs }) =>
      // The folder for temporary files is tried by APIs too, when they start.
      (isTemporary || isWorker(slot)) &&
      atMs + SLACK_MS >= writtenMs &&
      atMs <= writtenMs + (isTemporary ? BETWEEN_BYTES_MS : NAMED_MS),
  );
  if (death !== undefined) return `${death.slot} died`;
  // One that is whole and has its name waits for the database only.
  return isTemporary ? null : absentDatabase(world, writtenMs, writtenMs + NAMED_MS);
}

function isWorker(slot: Death['slot']): boolean {
  return slot.startsWith('worker');
}

function absentDatabase(world: Faults, fromMs: number, toMs: number): string | null {
  const fault = world.struck.find((one) => OF_DATABASE.has(one.name) && isDuring(one, fromMs, toMs));
  if (fault !== undefined) return `${fault.name}: ${fault.detail}`;
  const link = world.disturbed.find(
    (one) => one.link.startsWith('database of worker') && isDuring(one, fromMs, toMs),
  );
  return link === undefined ? null : `${link.link} was disturbed`;
}
