import { findGenerationInputs } from '../db/index.ts';
import type { Db } from '../db/index.ts';
import { findExisting, listOpenGenerations, recoverGeneration } from '../db/recover.ts';
import type { OpenGeneration, RecoveredSubmission } from '../db/recover.ts';
import { asTrial } from '../db/transaction.ts';
import type { CallbackUrls } from '../domain/callback-urls.ts';
import type { FileLinks } from '../domain/file-links.ts';
import { namesFiles } from '../domain/input-fields.ts';
import type { Provider, ProviderCredential } from '../domain/provider.ts';
import { nextRoute } from '../domain/route.ts';
import { freezeSubmit } from '../providers/frozen-submit.ts';
import type { RunRef, Trace } from '../temporal/histories.ts';
import { attachFromHistory, recordStrays } from './attach-from-history.ts';
import type { TracedOutcome } from './attach-from-history.ts';

const PAGE = 200;
const AT_ONCE = 2;
/** Clocks of the API and of Temporal may differ by so much. */
const CLOCKS_MS = 300_000;

export interface RecoverDeps {
  readonly db: Db;
  readonly providers: ReadonlyMap<
    string,
    { readonly provider: Provider; readonly current: ProviderCredential }
  >;
  readonly callbacks: Pick<CallbackUrls, 'current'>;
  readonly links: FileLinks | null;
  /** What Temporal's histories tell of a generation; null = they are not asked. */
  readonly trace: ((generationId: string) => Promise<Trace>) | null;
  /** Runs started since, newest first. */
  readonly runsSince: (at: Date) => AsyncIterable<RunRef>;
}

export interface RecoverInput {
  readonly restoredAt: Date;
  readonly dryRun: boolean;
  readonly actor: string;
  readonly reason: string;
}

/** What was done for one generation that may have been submitted since the dump. */
export interface RecoveredRow {
  readonly generation: string;
  readonly submission: string;
  readonly provider: string;
  /** Of its submission, in the dump; `moved` = another one was open there; `unknown` = nothing had to be done for it. */
  readonly was: 'none' | 'prepared' | 'sending' | 'moved' | 'unknown';
  readonly now: 'unknown' | 'attached';
  readonly jobs: readonly TracedOutcome[];
}

export interface RecoverReport {
  readonly rows: readonly RecoveredRow[];
  /** Those that have their job, or can't have been submitted since. */
  readonly untouched: number;
  /** Created after the restore point: left as they are. */
  readonly younger: number;
  /** Could not be recovered: workers must not start before. */
  readonly failed: readonly { readonly generation: string; readonly problem: string }[];
  /** Runs without a row, with the jobs that they name. */
  readonly gone: readonly { readonly generation: string; readonly jobs: readonly TracedOutcome[] }[];
}

type One =
  | { readonly kind: 'row'; readonly row: RecoveredRow }
  | { readonly kind: 'untouched' | 'younger' }
  | { readonly kind: 'failed'; readonly problem: string };

/**
 * After a restore and before workers start: every generation that has not ended and may have been submitted since gets
 * an unknown submission, which is never sent as a new one; then the jobs that histories name are attached. Safe to
 * repeat. @throws when the database or Temporal goes away; what was done stays, and the next call goes on
 */
export async function recoverGenerations(deps: RecoverDeps, input: RecoverInput): Promise<RecoverReport> {
  const rows: RecoveredRow[] = [];
  const failed: { generation: string; problem: string }[] = [];
  const counts = { untouched: 0, younger: 0 };
  for (let after = ''; ;) {
    const page = await listOpenGenerations(deps.db, after, PAGE);
    await eachUntilOneFails(page, async (generation) => {
      const one = await recoverOne(deps, generation, input);
      if (one.kind === 'row') rows.push(one.row);
      else if (one.kind === 'failed') failed.push({ generation: generation.id, problem: one.problem });
      else counts[one.kind] += 1;
    });
    after = page.at(-1)?.id ?? after;
    if (page.length < PAGE) break;
  }
  rows.sort((a, b) => (a.generation < b.generation ? -1 : 1));
  return { rows, failed, ...counts, gone: await recordGone(deps, input) };
}

async function recoverOne(deps: RecoverDeps, generation: OpenGeneration, input: RecoverInput): Promise<One> {
  const { submission } = generation;
  const { restoredAt } = input;
  if (generation.createdAt > restoredAt) return { kind: 'younger' };
  if (generation.succeeded || submission?.state === 'accepted') return { kind: 'untouched' };
  const trace = (await deps.trace?.(generation.id)) ?? null;
  const open = submission !== null && ['prepared', 'sending', 'unknown'].includes(submission.state);
  // No submit begins after the deadline.
  if (!open && generation.deadlineAt <= restoredAt) return { kind: 'untouched' };
  const place = placeOf(generation, trace);
  if (place === 'unreadable_plan') return { kind: 'failed', problem: place };
  if (place === null) return { kind: 'untouched' };
  const isOpen = open && submission.ordinal === place.ordinal;
  const made = isOpen ? null : await remake(deps, generation, place);
  if (typeof made === 'string') return { kind: 'failed', problem: made };
  const act = async (db: Db): Promise<One> => {
    const recovered = await recoverGeneration(db, {
      generationId: generation.id,
      submission: made,
      ...input,
    });
    if (recovered.outcome !== 'unknown' && recovered.outcome !== 'stands') return { kind: 'untouched' };
    const { submissionId } = recovered;
    const jobs = trace === null ? [] : await attachFromHistory({ ...deps, db }, trace, submissionId);
    const attached = jobs.some((job) => job.outcome === 'attached' && job.submissionId === submissionId);
    const row: RecoveredRow = {
      generation: generation.id,
      submission: submissionId,
      provider: made?.provider ?? submission?.provider ?? '',
      was: recovered.outcome === 'unknown' ? recovered.was : 'unknown',
      now: attached ? 'attached' : 'unknown',
      jobs,
    };
    return { kind: 'row', row };
  };
  return input.dryRun ? asTrial(deps.db, act) : act(deps.db);
}

interface Place {
  readonly ordinal: number;
  readonly routeIndex: number;
}

/**
 * Which submission was made last before the restore, or may have been: the open one, else the next one; a later place
 * of the route list where a history tells that the run had gone on. Null = none can have been.
 */
function placeOf(
  { submission, plan }: Pick<OpenGeneration, 'submission' | 'plan'>,
  trace: Trace | null,
): Place | 'unreadable_plan' | null {
  if (plan === null) return 'unreadable_plan';
  const dead = submission === null || submission.state === 'refused' || submission.state === 'abandoned';
  const routeIndex = nextRoute(submission, plan.routes.length);
  if (routeIndex === null) return null;
  const ordinal = (submission?.ordinal ?? 0) + (dead ? 1 : 0);
  const told = trace?.lastSubmit ?? null;
  if (told === null) return { ordinal, routeIndex };
  const later = plan.routes.findIndex(({ provider }, i) => i >= routeIndex && provider === told.provider);
  if (later === -1) return { ordinal, routeIndex };
  if (told.submissionId !== null) {
    return { ordinal: Math.max(ordinalOf(told.submissionId), ordinal), routeIndex: later };
  }
  if (later === routeIndex) return { ordinal, routeIndex };
  // In flight at a later place: after those that were refused and what the dump has.
  const known = [submission?.ordinal ?? 0, ...(trace?.refused ?? []).map(ordinalOf)];
  return { ordinal: Math.max(...known) + 1, routeIndex: later };
}

const ordinalOf = (submissionId: string): number =>
  Number(submissionId.slice(submissionId.lastIndexOf('_') + 1));

/** The submission with the id, key and bytes that its run made; a text = why it can't be made here. */
async function remake(
  deps: RecoverDeps,
  { id, input, plan }: OpenGeneration,
  { ordinal, routeIndex }: Place,
): Promise<RecoveredSubmission | string> {
  const route = plan?.routes[routeIndex];
  if (plan === null || route === undefined) return 'unreadable_plan';
  const access = deps.providers.get(route.provider);
  if (access === undefined) return `no PROVIDER_… settings of ${route.provider} here`;
  const inputs = namesFiles(input) ? await findGenerationInputs(deps.db, id) : [];
  const { provider, current: credential } = access;
  const tools = { provider, credential, callbacks: deps.callbacks, links: deps.links };
  try {
    const frozen = freezeSubmit(tools, { generation: { id, input, plan }, route, ordinal, inputs });
    return { ...frozen, routeIndex };
  } catch {
    return `${route.provider} can't be asked with this input`;
  }
}

/** Runs that were started since and whose row is gone: they end by themselves; their jobs go on record. */
async function recordGone(
  deps: RecoverDeps,
  { restoredAt, dryRun }: RecoverInput,
): Promise<RecoverReport['gone']> {
  if (deps.trace === null) return [];
  const { trace } = deps;
  const gone: { generation: string; jobs: TracedOutcome[] }[] = [];
  const since = new Date(restoredAt.getTime() - CLOCKS_MS);
  const seen = new Set<string>();
  let page: string[] = [];
  const look = async () => {
    const existing = await findExisting(deps.db, page);
    await eachUntilOneFails(
      page.filter((id) => !existing.has(id)),
      async (generation) => {
        const told = await trace(generation);
        const record = (db: Db) => recordStrays({ ...deps, db }, told);
        gone.push({ generation, jobs: await (dryRun ? asTrial(deps.db, record) : record(deps.db)) });
      },
    );
    page = [];
  };
  for await (const { generationId } of deps.runsSince(since)) {
    if (seen.has(generationId)) continue;
    seen.add(generationId);
    if (page.push(generationId) >= PAGE) await look();
  }
  await look();
  return gone.toSorted((a, b) => (a.generation < b.generation ? -1 : 1));
}

/** A few at a time: the command has few connections. The first failure ends all, when what is under way has ended. */
async function eachUntilOneFails<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const ends = await Promise.allSettled(
    Array.from({ length: AT_ONCE }, async () => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
        await run(item).catch((error: unknown) => {
          queue.length = 0;
          throw error;
        });
      }
    }),
  );
  for (const end of ends) if (end.status === 'rejected') throw end.reason as Error;
}
