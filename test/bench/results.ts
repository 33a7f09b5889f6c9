import { renameSync, writeFileSync } from 'node:fs';
import type { Part } from './options.ts';
import type { BenchReport, PartEnd } from './report.ts';
import type { PartReport } from './types.ts';

/** What a run has measured so far, also in a file, so that a run that is cut loses nothing. */
export class Results {
  readonly #startedMs = performance.now();
  readonly #file: string | null;
  readonly #parts = new Map<Part, PartReport>();
  readonly #ends = new Map<Part, PartEnd>();
  #about: Pick<BenchReport, 'machine' | 'settings'> = { machine: {}, settings: {} };
  #whole = false;
  #isClosed = false;

  /** @param file null = none is written */
  constructor(file: string | null) {
    this.#file = file;
  }

  /** On what it is measured, and with what. */
  describe(about: Pick<BenchReport, 'machine' | 'settings'>): void {
    this.#about = about;
    this.#write();
  }

  /** What a part has so far, or all of it. */
  keep(part: Part, report: PartReport, end: PartEnd): void {
    if (this.#isClosed) return;
    this.#parts.set(part, report);
    this.end(part, end);
  }

  end(part: Part, end: PartEnd): void {
    if (this.#isClosed) return;
    this.#ends.set(part, end);
    this.#write();
  }

  /** All that was asked for has been measured, unless a part has failed. */
  complete(): void {
    this.#whole = [...this.#ends.values()].every((end) => typeof end === 'object' && 'seconds' in end);
    this.#write();
  }

  /** From now on everything stays as it is: what is under way fails since the run was cut. */
  close(): void {
    this.#isClosed = true;
  }

  report(): BenchReport {
    const parts = [...this.#parts.values()];
    const merged = <K extends 'ratios' | 'counts' | 'latencies'>(name: K) =>
      Object.assign({}, ...parts.map((part) => part[name] ?? {})) as Required<PartReport>[K];
    return {
      ...this.#about,
      ratios: merged('ratios'),
      counts: merged('counts'),
      latencies: merged('latencies'),
      waiting: this.#parts.get('waiting')?.waiting ?? null,
      tables: this.#parts.get('tables')?.tables ?? null,
      parts: Object.fromEntries(this.#ends),
      seconds: Math.round((performance.now() - this.#startedMs) / 100) / 10,
      whole: this.#whole,
    };
  }

  #write(): void {
    if (this.#file === null) return;
    writeFileSync(`${this.#file}.new`, `${JSON.stringify(this.report(), null, 2)}\n`);
    renameSync(`${this.#file}.new`, this.#file);
  }
}
