import { existsSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../src/dev/child.ts';
import { billedActions, type HistoryEvent } from '../support/history.ts';
import { ask } from './load.ts';
import { within } from './progress.ts';
import type { BenchStack } from './stack.ts';
import { quantile } from './statistics.ts';
import type { BenchTenant } from './tenants.ts';
import type { PartReport, Size } from './types.ts';

type Process = 'api' | 'worker';
const PROCESSES: readonly Process[] = ['api', 'worker'];
/** Longer than what follows a settle by itself: the webhook, the measured latency. */
const AFTER_MS = 400;
const LIMIT_MS = 120_000;
/** What the loops ask for, whoever generates: no generation's own, however often one of them comes beside it. */
const OF_LOOPS = new Set([
  'claim_due_generations',
  'claim_pass',
  'mark_pass',
  'wake_unseen_callbacks',
  'waiting_jobs',
  'claim_late_observations',
  'claim_file_removals',
  'SELECT output',
]);

/** One statement as preload.mjs notes it. */
interface Statement {
  readonly atMs: number;
  readonly text: string;
  /** The part that all ids of one generation share; null where its values name none. */
  readonly id: string | null;
}

interface Window {
  readonly id: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Exact figures of one generation with a callback: statements, history events, billed actions, bytes of history. */
export async function measureCounts(stack: BenchStack, { counted }: Size): Promise<PartReport> {
  const without = await countOf(stack, stack.quiet, counted);
  const withWebhook = await countOf(stack, stack.told, counted);
  return { counts: { ...without, with_webhook: withWebhook } };
}

async function countOf(stack: BenchStack, tenant: BenchTenant, count: number) {
  // What only the first one does: auth caches, plans.
  await stack.settlements.of(await ask(stack, tenant));
  await sleep(AFTER_MS);
  for (const name of PROCESSES) {
    rmSync(stack.statements[name], { force: true });
    process.kill(stack[name].pid, 'SIGUSR2');
  }
  const windows: Window[] = [];
  const idle: Window[] = [];
  const histories: Awaited<ReturnType<typeof historyFacts>>[] = [];
  for (let done = 0; done < count; done++) {
    const fromMs = Date.now();
    const id = await ask(stack, tenant);
    await stack.settlements.of(id);
    await within(`the end of the run of ${id}`, LIMIT_MS, stack.client.workflow.getHandle(id).result());
    await sleep(AFTER_MS);
    const toMs = Date.now();
    windows.push({ id: id.slice('gen_'.length), fromMs, toMs });
    histories.push(await historyFacts(stack, id));
    // As long without a generation: what the loops do by themselves in that time.
    const idleFromMs = Date.now();
    await sleep(toMs - fromMs);
    idle.push({ id: '', fromMs: idleFromMs, toMs: Date.now() });
  }
  const sql = Object.fromEntries(
    await Promise.all(
      PROCESSES.map(async (name) => [name, statementsOf(await noted(stack, name), windows, idle)] as const),
    ),
  ) as Record<Process, StatementCounts>;
  // The same each time, but for a workflow task that the machine held up until Temporal gave it out again.
  const usual = (pick: (facts: (typeof histories)[number]) => number) => quantile(histories.map(pick), 0.5);
  return {
    generations: count,
    history_events: usual(({ events }) => events),
    billed_actions: usual(({ actions }) => actions),
    history_bytes: Math.round(usual(({ bytes }) => bytes)),
    sql_statements: total(sql.api) + total(sql.worker),
    sql_per_generation: { api: sql.api.per_generation, worker: sql.worker.per_generation },
    sql_background_per_minute: { api: sql.api.background, worker: sql.worker.background },
  };
}

const total = ({ per_generation }: StatementCounts): number =>
  Object.values(per_generation).reduce((sum, count) => sum + count, 0);

async function historyFacts({ client }: BenchStack, id: string) {
  const handle = client.workflow.getHandle(id);
  const history = await handle.fetchHistory();
  const events = JSON.parse(JSON.stringify(history.events ?? [])) as HistoryEvent[];
  const { historySize } = await handle.describe();
  return { events: events.length, actions: billedActions(events), bytes: historySize ?? 0 };
}

async function noted(stack: BenchStack, name: Process): Promise<Statement[]> {
  process.kill(stack[name].pid, 'SIGUSR2');
  const file = stack.statements[name];
  if (!(await waitUntil(async () => existsSync(file), { timeoutMs: 30_000 })))
    throw new Error(`${name} has noted no statements`);
  return JSON.parse(readFileSync(file, 'utf8')) as Statement[];
}

interface StatementCounts {
  /** By function or statement; whole numbers. */
  readonly per_generation: Readonly<Record<string, number>>;
  readonly background: Readonly<Record<string, number>>;
}

/**
 * A statement whose values name the generation is its own. Of the others, those are its own that come more often while
 * there is one than in the same time without; the rest is what the loops do anyway.
 */
function statementsOf(
  statements: readonly Statement[],
  windows: readonly Window[],
  idle: readonly Window[],
): StatementCounts {
  const own: Record<string, number> = {};
  const background: Record<string, number> = {};
  const minutes = [...windows, ...idle].reduce((sum, { fromMs, toMs }) => sum + (toMs - fromMs), 0) / 60_000;
  for (const name of new Set(statements.map(({ text }) => nameOf(text)))) {
    const named = statements.filter(({ text }) => nameOf(text) === name);
    const within = (all: readonly Window[], fits: (statement: Statement, window: Window) => boolean) =>
      all.map(
        (window) =>
          named.filter((one) => one.atMs >= window.fromMs && one.atMs <= window.toMs && fits(one, window))
            .length,
      );
    const mean = (counts: readonly number[]) => counts.reduce((sum, one) => sum + one, 0) / counts.length;
    // A generation's own statements are the same each time: the median is exact where one had to be repeated.
    const certain = quantile(
      within(windows, ({ id }, window) => id === window.id),
      0.5,
    );
    const anonymous = (_: Statement) => _.id === null;
    const [beside, without] = [within(windows, anonymous), within(idle, anonymous)];
    // Each generation has its own ones: what is in few windows only came by chance.
    const more = Math.min(
      Math.round(mean(beside) - mean(without)),
      quantile(beside, 0.25) - quantile(without, 0.25),
    );
    const others = OF_LOOPS.has(name) ? 0 : Math.max(0, more);
    if (certain + others > 0) own[name] = certain + others;
    const rest = named.filter(({ id }) => id === null).length - others * windows.length;
    if (rest > 0) background[name] = Math.round((rest / minutes) * 10) / 10;
  }
  return { per_generation: own, background };
}

/** The SQL function that is called, else the verb and the table. */
function nameOf(text: string): string {
  const [, called] = /^SELECT (\w+)\(\$1::jsonb/.exec(text) ?? [];
  if (called !== undefined) return called;
  const plain = text.replaceAll(/\s+/g, ' ').replaceAll('"', '').trim();
  const [, verb] = /^(SELECT|INSERT|UPDATE|DELETE)\b/.exec(plain) ?? [];
  const [, table] = /\b(?:FROM|INTO|UPDATE) (?:public\.)?([a-z_]+)\b/.exec(plain) ?? [];
  return verb === undefined || table === undefined ? plain.slice(0, 60) : `${verb} ${table}`;
}
