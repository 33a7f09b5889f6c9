import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../../src/simulators/faults.ts';
import type { JobJournal, RequestRecord, Total } from '../../src/simulators/journal.ts';
import type { z } from 'zod';
import type { faultSchema } from '../../src/simulators/faults.ts';

type FaultInput = z.input<typeof faultSchema>;

/** What `GET /_sim/journal` shows. */
export interface JournalView {
  readonly totals: Readonly<Record<Total, number>>;
  readonly jobs: readonly (JobJournal & {
    readonly id: string;
    readonly status: string;
    readonly deleted: boolean;
    readonly idempotency_key: string | null;
    readonly external_id: string | null;
    readonly request_body: string;
    readonly created_at: string;
  })[];
  readonly requests: readonly RequestRecord[];
}

/** The control routes of a simulator, as a test uses them. */
export class Control {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async post<T = unknown>(path: string, body: unknown = {}): Promise<T> {
    const answer = await fetch(`${this.url}/_sim/${path}`, { method: 'POST', body: JSON.stringify(body) });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as T;
  }

  /** Adds faults for jobs whose prompt has this text. */
  async fault(prompt: string, ...faults: readonly FaultInput[]): Promise<void> {
    await this.post(
      'faults',
      faults.map((fault) => ({ match: { prompt }, ...fault })),
    );
  }

  async journal(prompt = ''): Promise<JournalView> {
    const answer = await fetch(`${this.url}/_sim/journal?prompt=${encodeURIComponent(prompt)}`);
    return (await answer.json()) as JournalView;
  }

  async faults(): Promise<readonly (Fault & { readonly struck: number })[]> {
    const answer = await fetch(`${this.url}/_sim/faults`);
    return ((await answer.json()) as { faults: (Fault & { struck: number })[] }).faults;
  }
}

/** Asks again every 10 ms until the answer is defined; an Error after `limitMs`. */
export async function eventually<T>(
  ask: () => Promise<T | undefined> | T | undefined,
  limitMs = 30_000,
): Promise<T> {
  const end = performance.now() + limitMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > end) throw new Error(`not within ${limitMs} ms`);
    await sleep(10);
  }
}
