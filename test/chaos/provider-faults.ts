import type { z } from 'zod';
import { type Fault, faultSchema } from '../../src/simulators/faults.ts';
import { Control } from '../simulators/control.ts';
import type { Chance } from './random.ts';
import type { SetFault } from './types.ts';
import { SLOW, TAGS, tagText } from './wishes.ts';

const SLOW_RENDER_MS = 4_000;

type FaultInput = z.input<typeof faultSchema>;

type Draw = (chance: Chance) => FaultInput;

/** What a provider may do, by what it is done to. */
const TABLES = {
  /** F-10: before and after it has taken the job. */
  submit: [
    (chance) => ({ kind: 'slow_submit', ms: chance.whole(200, 7_000) }),
    () => ({ kind: 'reset_before_accept' }),
    () => ({ kind: 'reset_after_accept' }),
    () => ({ kind: 'answer_lost_then_ok' }),
    (chance) => ({ kind: 'status_429', retry_after: chance.whole(0, 3) }),
    (chance) => ({ kind: 'status_5xx', status: chance.pick([500, 502, 503]) }),
    () => ({ kind: 'status_5xx_after_accept' }),
    // 401: our key is refused by everyone in these words or others, and no job is taken.
    (chance) => (chance.hits(0.5) ? { kind: 'refuse' } : { kind: 'refuse', status: 401 }),
    () => ({ kind: 'refuse_content' }),
    () => ({ kind: 'error_in_200' }),
    (chance) => ({ kind: 'html', status: chance.pick([200, 502]) }),
    () => ({ kind: 'missing_id' }),
  ],
  /** F-11: what becomes of the job, and what is told of it. */
  state: [
    () => ({ kind: 'unknown_status', status: 'pondering' }),
    () => ({ kind: 'stuck' }),
    () => ({ kind: 'fail' }),
    () => ({ kind: 'moderated' }),
    (chance) => ({ kind: 'succeeded_without_output', output: chance.pick(['empty', 'null'] as const) }),
    (chance) => ({ kind: 'render_ms', ms: chance.whole(0, 8_000) }),
    (chance) => ({ kind: 'observe_5xx', status: chance.pick([500, 503, 429]) }),
    () => ({ kind: 'observe_404' }),
    () => ({ kind: 'observe_hang' }),
    () => ({ kind: 'observe_error_in_200' }),
  ],
  /** F-14: its outputs. */
  link: [
    () => ({ kind: 'link_404' }),
    () => ({ kind: 'link_html' }),
    () => ({ kind: 'link_truncated' }),
    () => ({ kind: 'link_empty' }),
    () => ({ kind: 'link_wrong_type' }),
    () => ({ kind: 'link_huge' }),
    (chance) => ({ kind: 'link_slow', ms: chance.whole(100, 500) }),
    () => ({ kind: 'link_redirect_private' }),
  ],
  /** F-17: a wish to stop it. */
  cancel: [() => ({ kind: 'cancel_5xx' }), () => ({ kind: 'cancel_succeeded' })],
  /** F-12: its callbacks. */
  callback: [
    () => ({ kind: 'no_callbacks' }),
    () => ({ kind: 'callback_before_answer' }),
    () => ({ kind: 'callback_twice' }),
    () => ({ kind: 'callback_twenty' }),
    (chance) => ({ kind: 'callback_late', ms: chance.whole(1_000, 12_000) }),
    () => ({ kind: 'callback_reordered' }),
    () => ({ kind: 'callback_forged' }),
  ],
} as const satisfies Record<string, readonly Draw[]>;

/** What a fault of a provider is done to. */
export type Target = keyof typeof TABLES;

/** Some faults at each of some of these providers, of these targets only. */
export function drawProviderFaults(
  chance: Chance,
  targets: readonly Target[],
  providers: readonly string[],
): { readonly provider: string; readonly faults: readonly Fault[] }[] {
  const table: readonly Draw[] = targets.flatMap((target): readonly Draw[] => TABLES[target]);
  const names = chance.shuffle(providers).slice(0, chance.whole(2, 4));
  return names.map((provider) => ({
    provider,
    faults: Array.from({ length: chance.whole(1, 3) }, () =>
      faultSchema.parse({
        ...chance.pick(table)(chance),
        match: { prompt: tagText(chance.whole(0, TAGS - 1)) },
        times: chance.whole(1, 3),
      }),
    ),
  }));
}

/** Faults of the simulators; each strikes a few times, for some of the prompts, and stays in force until it has. */
export class ProviderFaults {
  /** All that were ever in force, by provider. */
  readonly byProvider: Record<string, SetFault[]> = {};
  readonly #urls: Readonly<Record<string, string>>;

  constructor(urls: Readonly<Record<string, string>>) {
    this.#urls = urls;
  }

  /** What holds for the whole run. */
  async begin(): Promise<void> {
    const slow = faultSchema.parse({ kind: 'render_ms', ms: SLOW_RENDER_MS, match: { prompt: SLOW.trim() } });
    for (const [name, url] of Object.entries(this.#urls)) {
      await new Control(url).post('faults', slow);
      this.byProvider[name] = [slow];
    }
  }

  /** Some at each of some simulators. */
  async draw(targets: readonly Target[], chance: Chance): Promise<ReturnType<typeof drawProviderFaults>> {
    const drawn = drawProviderFaults(chance, targets, Object.keys(this.#urls));
    for (const { provider, faults } of drawn) await this.add(provider, faults);
    return drawn;
  }

  async add(provider: string, faults: readonly Fault[]): Promise<void> {
    const fromMs = Date.now();
    await new Control(this.#urls[provider] ?? '').post('faults', faults);
    (this.byProvider[provider] ??= []).push(...faults.map((fault) => ({ ...fault, fromMs })));
  }

  /** How often each kind struck, and how many never met anybody; without what holds for the whole run. */
  async counts(): Promise<ProviderFaultCounts> {
    const struck: Record<string, number> = {};
    const missed: Record<string, number> = {};
    for (const url of Object.values(this.#urls)) {
      for (const fault of await new Control(url).faults()) {
        if (fault.times === undefined) continue;
        const book = fault.struck === 0 ? missed : struck;
        book[fault.kind] = (book[fault.kind] ?? 0) + Math.max(1, fault.struck);
      }
    }
    return { struck, missed };
  }
}

export interface ProviderFaultCounts {
  readonly struck: Readonly<Record<string, number>>;
  readonly missed: Readonly<Record<string, number>>;
}
