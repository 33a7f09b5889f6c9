import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../src/dev/child.ts';
import type { FaultContext } from './fault-context.ts';
import type { KillPoint } from './kill-points.mjs';
import type { Plan, Step } from './plan.ts';
import { KILLS, POINTS } from './scenarios.ts';
import { type Hit, strike } from './strike.ts';
import type { Struck } from './types.ts';
import { wishToCancel, wishToPass } from './wishes.ts';

/** A process that was started for a kill point and has not come there by then: tried again later. */
const POINT_LIMIT_MS = 20_000;
/** While a process waits for its point, one more is asked for so often: cancels from the start, others when nobody came. */
const HELP_EVERY_MS = 1_000;
const HELP_AFTER_MS = 8_000;
/** At its first try a process passes its point up to so many times before it dies there, by the step's seed. */
const MOST_SKIPPED = 3;
/** How often a point that no process came to, or a fault that met nobody, is tried in all. */
const TRIES = 3;
/** Asked for before such a fault is tried again, and how long at most until one of them is there. */
const SOME = 3;
const THERE_MS = 10_000;
/** What can be done only once in a run. */
const ONCE: ReadonlySet<string> = new Set(['revoke']);

export interface LanesInput {
  readonly context: FaultContext;
  readonly plan: Plan;
  readonly minutes: number | null;
  /** One line for people. */
  readonly say: (line: string) => void;
  /** A fault is over. */
  readonly ended: () => Promise<void>;
}

/** Carries out a plan: each lane one step after the other, all lanes beside each other. */
export class Lanes {
  readonly struck: Struck[] = [];
  /** How often a fault was done and met nobody, by name: such a one has not struck. */
  readonly missed: Record<string, number> = {};
  /** How often each kill point was passed and struck; those that were tried in vain are 0. */
  readonly points: Record<string, number> = {};
  readonly #input: LanesInput;
  readonly #startedMs = performance.now();
  /** Steps that are over, by lane. */
  readonly #done: number[] = [];

  constructor(input: LanesInput) {
    this.#input = input;
  }

  /** From 0 to 1; by time where it has a length, else by what is done of the plan. */
  get progress(): number {
    const { minutes, plan } = this.#input;
    // What the slowest lane still needs is kept for it.
    const done = Math.min(1, ...plan.map((lane, at) => (this.#done[at] ?? 0) / lane.length));
    return minutes === null ? done : (performance.now() - this.#startedMs) / (minutes * 60_000);
  }

  /** Processes that were killed by us. */
  get kills(): number {
    return this.struck.filter(({ name }) => (KILLS as readonly string[]).includes(name)).length;
  }

  /** How often each fault struck. */
  get faults(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { name } of this.struck) counts[name] = (counts[name] ?? 0) + 1;
    return counts;
  }

  async run(): Promise<void> {
    await Promise.all(this.#input.plan.map((lane, at) => this.#runLane(lane, at)));
  }

  async #runLane(lane: readonly Step[], at: number): Promise<void> {
    const { signal } = this.#input.context;
    const left = lane.map((step) => ({ step, tries: 0 }));
    for (let turn = left.shift(); turn !== undefined && !signal.aborted; turn = left.shift()) {
      const { tries } = turn;
      // What it asks for must be new each time.
      const step = { ...turn.step, seed: turn.step.seed + tries };
      await this.#due(step);
      if (tries > 0 && !isPoint(step)) await this.#askSome(step);
      const next = left[0]?.step;
      const struck = await this.#one(step, next, tries === 0 ? step.seed % (MOST_SKIPPED + 1) : 0);
      if (!struck && tries + 1 < TRIES) left.push({ step: turn.step, tries: tries + 1 });
      else this.#done[at] = (this.#done[at] ?? 0) + 1;
    }
  }

  async #due({ at, gapMs }: Step): Promise<void> {
    const { minutes, context } = this.#input;
    const waitMs = minutes === null ? gapMs : this.#startedMs + at * minutes * 60_000 - performance.now();
    if (waitMs > 0) await sleep(waitMs, undefined, { signal: context.signal }).catch(() => {});
  }

  /** Whom a fault that met nobody may meet: there may be nothing left when the load is over. */
  async #askSome({ seed, name }: Step): Promise<void> {
    const { load, signal } = this.#input.context;
    // These ask by themselves.
    if (name === 'gone' || name === 'partial') return;
    for (let number = 0; number < SOME && !load.isFull; number++) load.ask(wishToPass(seed, number));
    const isThere = () => Promise.resolve(load.open > 0);
    await waitUntil(isThere, { timeoutMs: THERE_MS, everyMs: 50, stopped: () => signal.aborted });
  }

  /** @returns false = a kill point that nothing came to, or a fault that met nobody */
  async #one(step: Step, next: Step | undefined, skip: number): Promise<boolean> {
    const { context, say, ended } = this.#input;
    const fromMs = Date.now();
    try {
      const hit = isPoint(step) ? await this.#point(step, next, skip) : await strike(context, step);
      if (hit === null) return false;
      const { detail, hits } = hit;
      say(`${step.name}: ${detail}${hits === 0 ? '; it met nobody' : ''}`);
      if (hits > 0) this.struck.push({ name: step.name, detail, fromMs, toMs: Date.now() });
      else this.missed[step.name] = (this.missed[step.name] ?? 0) + 1;
      await ended();
      return hits > 0 || ONCE.has(step.name);
    } catch (error) {
      // Two faults at once: the one takes from the other what it works on, above all the database.
      const problem = error instanceof Error ? error.message : String(error);
      say(`${step.name} could not be done: ${problem.split('\n')[0]}`);
      if (/did not start/.test(problem)) {
        context.violations.push({ check: 'what was stopped starts again', generation: null, problem });
      }
    }
    await ended();
    return true;
  }

  /** Cancels are rare, and only some meet a job that renders; of all else there may be nothing left when the load is over. */
  #askMeanwhile({ name, seed }: Step): NodeJS.Timeout {
    const { load } = this.#input.context;
    const fromMs = performance.now();
    let number = 0;
    return setInterval(() => {
      const mayHelp = load.isOver || (performance.now() - fromMs > HELP_AFTER_MS && !load.isFull);
      if (name === 'K16') load.ask(wishToCancel(seed, number++));
      else if (mayHelp) load.ask(wishToPass(seed, number++));
    }, HELP_EVERY_MS);
  }

  /** A process is started for the point, and again when it has died there; the next point needs no healthy one between. */
  #point(step: Step, next: Step | undefined, skip: number): Promise<Hit | null> {
    const { stack, signal } = this.#input.context;
    const name = step.name as KillPoint;
    const slotName = step.slot ?? 'worker-1';
    const slot = stack.slots[slotName];
    return slot.alone(async () => {
      this.points[name] ??= 0;
      await slot.kill();
      const { marker } = await slot.start({ crashAt: name, crashSkip: skip });
      // The one before was left dead until now.
      await this.#input.ended();
      const helper = this.#askMeanwhile(step);
      const died = await slot.diesBy(marker, POINT_LIMIT_MS, () => signal.aborted);
      clearInterval(helper);
      if (died) this.points[name] += 1;
      else await slot.kill();
      const follows = next !== undefined && isPoint(next) && next.slot === step.slot;
      if (!follows || this.#input.minutes !== null) await slot.start();
      return died ? { detail: `${slotName}, passed ${skip} times before`, hits: 1 } : null;
    });
  }
}

function isPoint({ name }: Step): boolean {
  return (POINTS as readonly string[]).includes(name);
}
