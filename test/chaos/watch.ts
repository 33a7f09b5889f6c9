import { setTimeout as sleep } from 'node:timers/promises';
import { Control } from '../simulators/control.ts';
import { isPolled } from './catalogue.ts';
import type { ChaosStack } from './stack.ts';
import type { Asked } from './types.ts';

const LOOK_MS = 250;
const WITHIN_MS = 15_000;
/** In these something of ours is to be done next; in the others we wait for somebody. */
const STEP_STAGES = new Set(['queued', 'submitting', 'storing', 'settling']);

interface OpenRow {
  readonly id: string;
  readonly stage: string;
  readonly updatedMs: number;
  readonly dueMs: number | null;
  /** A cancel or a wake is asked for. */
  readonly isAsked: boolean;
  readonly model: string;
  readonly provider: string | null;
}

const OPEN_ROWS = `
  SELECT g.id, g.stage, g.model, extract(epoch FROM g.updated_at)::float8 * 1000 AS "updatedMs",
    extract(epoch FROM g.due_at)::float8 * 1000 AS "dueMs",
    (g.cancel_requested_at IS NOT NULL OR g.wake_requested_at IS NOT NULL) AS "isAsked",
    (SELECT s.provider FROM submission s WHERE s.generation_id = g.id AND s.state = 'accepted'
     ORDER BY s.ordinal DESC LIMIT 1) AS provider
  FROM generation g WHERE g.completed_at IS NULL`;

/** How soon things went on after the faults. */
export interface Recovery {
  readonly p95Ms: number | null;
  /** Share of all within 15 s; null = nothing was due. */
  readonly within15s: number | null;
  readonly count: number;
}

/**
 * Looks at the rows during a run: how many generations are open, and how long after the end of a fault each one that had a
 * step due went on. Where another fault ends before it has gone on, its time counts from that later end: whatever struck
 * last may have held it up.
 */
export class Watch {
  /** Generations that have not ended, as last seen. */
  open = 0;
  readonly #stack: ChaosStack;
  readonly #asked: () => readonly Asked[];
  readonly #due = new Map<string, { readonly sinceMs: number; readonly updatedMs: number }>();
  readonly #samples: number[] = [];
  #stopped = false;

  constructor(stack: ChaosStack, asked: () => readonly Asked[]) {
    this.#stack = stack;
    this.#asked = asked;
  }

  async run(): Promise<void> {
    while (!this.#stopped) {
      await this.#look().catch(() => {});
      await sleep(LOOK_MS);
    }
  }

  stop(): void {
    this.#stopped = true;
  }

  /** A fault is over: from now on what is due must go on. */
  async faultEnded(): Promise<void> {
    const endMs = Date.now();
    const { rows } = await this.#stack.sql.query<OpenRow>(OPEN_ROWS).catch(() => ({ rows: [] }));
    await Promise.all(
      rows.map(async (row) => {
        const dueMs = await this.#dueAt(row, endMs);
        if (dueMs === null) return;
        this.#due.set(row.id, { sinceMs: Math.max(endMs, dueMs), updatedMs: row.updatedMs });
      }),
    );
  }

  recovery(): Recovery {
    const sorted = this.#samples.toSorted((a, b) => a - b);
    const count = sorted.length;
    if (count === 0) return { p95Ms: null, within15s: null, count };
    return {
      p95Ms: Math.round(sorted[Math.ceil(count * 0.95) - 1] ?? 0),
      within15s: Math.round((sorted.filter((ms) => ms <= WITHIN_MS).length / count) * 1_000) / 1_000,
      count,
    };
  }

  async #look(): Promise<void> {
    const { rows } = await this.#stack.sql.query<{ id: string; updatedMs: number; isOpen: boolean }>(
      `SELECT id, extract(epoch FROM updated_at)::float8 * 1000 AS "updatedMs", completed_at IS NULL AS "isOpen"
       FROM generation WHERE completed_at IS NULL OR id = ANY($1)`,
      [[...this.#due.keys()]],
    );
    this.open = rows.filter(({ isOpen }) => isOpen).length;
    for (const { id, updatedMs } of rows) {
      const due = this.#due.get(id);
      if (due === undefined || updatedMs <= due.updatedMs) continue;
      this.#due.delete(id);
      this.#samples.push(Math.max(0, updatedMs - due.sinceMs));
    }
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
