/** How many went on how soon after a fault. */
export interface Recovery {
  readonly p95Ms: number | null;
  /** Share of all within 15 s; null = nothing was due. */
  readonly within15s: number | null;
  readonly count: number;
}

/** A generation that has not ended, or that was due when it had not. */
export interface Standing {
  readonly id: string;
  /** Changes with its stage, its submission or its end, and with nothing that anybody only asks for. */
  readonly mark: string;
  /** When its mark changed last, in ms since 1970. */
  readonly movedMs: number;
}

/** One with a step that is, or was, to be done since then. */
export interface Due extends Standing {
  readonly dueMs: number;
}

const WITHIN_MS = 15_000;
/** Of fewer, one alone would decide. */
const ENOUGH = 20;
/** The bar of design.md §5: so many of those that were due go on in time. */
const SHARE = 0.95;

/** From the end of a fault until what was due then has gone on; a fault that ends meanwhile does not begin it anew. */
export class RecoveryClock {
  readonly #due = new Map<string, { mark: string; firstMs: number; lastMs: number }>();
  readonly #byFirst: number[] = [];
  readonly #byLast: number[] = [];

  /** Those that wait to be seen going on. */
  get waiting(): readonly string[] {
    return [...this.#due.keys()];
  }

  /** A fault has ended when these were due. */
  faultEnded(endMs: number, due: readonly Due[]): void {
    for (const { id, mark, dueMs } of due) {
      const sinceMs = Math.max(endMs, dueMs);
      const known = this.#due.get(id);
      if (known === undefined) this.#due.set(id, { mark, firstMs: sinceMs, lastMs: sinceMs });
      else known.lastMs = Math.max(known.lastMs, sinceMs);
    }
  }

  /** How these stand now. */
  look(rows: readonly Standing[]): void {
    for (const { id, mark, movedMs } of rows) {
      const due = this.#due.get(id);
      if (due === undefined || due.mark === mark) continue;
      this.#due.delete(id);
      this.#byFirst.push(Math.max(0, movedMs - due.firstMs));
      this.#byLast.push(Math.max(0, movedMs - due.lastMs));
    }
  }

  /** Timed from the first fault that ended since each was due. */
  get strict(): Recovery {
    return figures(this.#byFirst);
  }

  /** Timed from the last one: whatever struck last may have held it up. */
  get sinceLast(): Recovery {
    return figures(this.#byLast);
  }
}

function figures(samples: readonly number[]): Recovery {
  const sorted = samples.toSorted((a, b) => a - b);
  const count = sorted.length;
  if (count === 0) return { p95Ms: null, within15s: null, count };
  return {
    p95Ms: Math.round(sorted[Math.ceil(count * 0.95) - 1] ?? 0),
    within15s: Math.round((sorted.filter((ms) => ms <= WITHIN_MS).length / count) * 1_000) / 1_000,
    count,
  };
}

/** Why a run is below the bar; null = it is not, or too few were due to say. */
export function belowBar({ within15s, count, p95Ms }: Recovery): string | null {
  if (within15s === null || count < ENOUGH || within15s >= SHARE) return null;
  const share = `${(within15s * 100).toFixed(1)} % of ${count}`;
  return `${share} went on within ${WITHIN_MS / 1_000} s, not ${SHARE * 100} %; 95 % within ${p95Ms} ms`;
}
