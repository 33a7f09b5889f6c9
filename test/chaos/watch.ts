import { setTimeout as sleep } from 'node:timers/promises';
import { Control } from '../simulators/control.ts';
import { isPolled } from './catalogue.ts';
import { violatedNow } from './invariants-now.ts';
import { type Due, RecoveryClock, type Standing } from './recovery.ts';
import type { ChaosStack } from './stack.ts';
import type { Asked, Violation } from './types.ts';

const LOOK_MS = 250;
const INVARIANTS_MS = 15_000;
/** In these something of ours is to be done next; in the others we wait for somebody. */
const STEP_STAGES = new Set(['queued', 'submitting', 'storing', 'settling']);

interface OpenRow extends Standing {
  readonly stage: string;
  readonly dueMs: number | null;
  /** A cancel or a wake is asked for. */
  readonly isAsked: boolean;
  readonly isOpen: boolean;
  readonly model: string;
  readonly provider: string | null;
}

/**
 * The mark leaves out what a tenant's own cancel and a callback's progress change. A submission is written to with each
 * answer and each look at its job; the last event is that of the stage or of the end.
 */
const ROWS = `
  SELECT g.id, g.stage, g.model, g.completed_at IS NULL AS "isOpen",
    concat_ws(' ', g.stage, g.state, g.success_at, g.completed_at, s.mark) AS mark,
    extract(epoch FROM greatest(e.moved_at, g.success_at, g.completed_at, s.moved_at, g.created_at))::float8 * 1000 AS "movedMs",
    extract(epoch FROM g.due_at)::float8 * 1000 AS "dueMs",
    (g.cancel_requested_at IS NOT NULL OR g.wake_requested_at IS NOT NULL) AS "isAsked", s.provider
  FROM generation g
  LEFT JOIN LATERAL (SELECT string_agg(concat_ws(' ', ordinal, state, updated_at), ', ' ORDER BY ordinal) AS mark, max(updated_at) AS moved_at,
      max(provider) FILTER (WHERE state = 'accepted') AS provider FROM submission WHERE generation_id = g.id) s ON true
  LEFT JOIN LATERAL (SELECT max(created_at) AS moved_at FROM generation_event WHERE generation_id = g.id AND type IN ('stage', 'terminal')) e ON true
  WHERE g.completed_at IS NULL OR g.id = ANY($1)`;

/**
 * Looks at the rows during a run: how many generations are open, how long after the end of a fault each one that had a step
 * due went on, and whether every invariant holds in the middle of it all.
 */
export class Watch {
  /** Generations that have not ended, as last seen. */
  open = 0;
  /** How often all invariants were checked, in one snapshot each. */
  checked = 0;
  readonly violations: Violation[] = [];
  readonly clock = new RecoveryClock();
  readonly #stack: ChaosStack;
  readonly #asked: () => readonly Asked[];
  #stopped = false;

  constructor(stack: ChaosStack, asked: () => readonly Asked[]) {
    this.#stack = stack;
    this.#asked = asked;
  }

  async run(): Promise<void> {
    await Promise.all([this.#lookOnAndOn(), this.#checkOnAndOn()]);
  }

  stop(): void {
    this.#stopped = true;
  }

  /** A fault is over: from now on what is due must go on. */
  async faultEnded(): Promise<void> {
    const endMs = Date.now();
    const rows = await this.#rows().catch(() => []);
    const due = await Promise.all(
      rows
        .filter(({ isOpen }) => isOpen)
        .map(async (row): Promise<Due[]> => {
          const dueMs = await this.#dueAt(row, endMs);
          return dueMs === null ? [] : [{ ...row, dueMs }];
        }),
    );
    this.clock.faultEnded(endMs, due.flat());
  }

  async #rows(): Promise<OpenRow[]> {
    return (await this.#stack.sql.query<OpenRow>(ROWS, [this.clock.waiting])).rows;
  }

  async #lookOnAndOn(): Promise<void> {
    while (!this.#stopped) {
      await this.#look().catch(() => {});
      await sleep(LOOK_MS);
    }
  }

  async #look(): Promise<void> {
    const rows = await this.#rows();
    this.open = rows.filter(({ isOpen }) => isOpen).length;
    this.clock.look(rows);
  }

  /** What only stands for a moment, like a job that is waited for, is seen in the middle of a run or never. */
  async #checkOnAndOn(): Promise<void> {
    let lastMs = performance.now();
    while (!this.#stopped) {
      await sleep(LOOK_MS);
      if (performance.now() - lastMs < INVARIANTS_MS) continue;
      await this.checkNow().catch(() => {});
      lastMs = performance.now();
    }
  }

  /** All invariants, in one snapshot. @throws when the database is away */
  async checkNow(): Promise<void> {
    this.violations.push(...(await violatedNow(this.#stack.databaseUrl)));
    this.checked += 1;
  }

  /** When a step of ours is, or was, to be done; null = we wait for somebody. */
  async #dueAt(row: OpenRow, endMs: number): Promise<number | null> {
    if (row.dueMs !== null && row.dueMs <= endMs) return row.dueMs;
    if (STEP_STAGES.has(row.stage) || row.isAsked) return endMs;
    return row.provider !== null && (await this.#canBeKnownAsEnded(row)) ? endMs : null;
  }

  /** The job has ended, and we were told so by a callback that was taken, or ask for it anyway. */
  async #canBeKnownAsEnded({ id, provider, model }: OpenRow): Promise<boolean> {
    const prompt = this.#asked().find((asked) => asked.id === id)?.prompt;
    const url = this.#stack.simulators[provider ?? ''];
    if (prompt === undefined || url === undefined) return false;
    const words = prompt.slice(0, prompt.indexOf(';') + 1);
    const journal = await new Control(url).journal(words).catch(() => null);
    const job = journal?.jobs.at(-1);
    if (job === undefined || ['queued', 'running'].includes(job.status)) return false;
    if (isPolled(model, provider ?? '')) return true;
    return job.callbacks.some(({ forged, answer }) => !forged && answer === 200);
  }
}
