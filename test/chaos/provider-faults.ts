import type { z } from 'zod';
import { type Fault, faultSchema } from '../../src/simulators/faults.ts';
import { Control } from '../simulators/control.ts';
import type { Chance } from './random.ts';
import { SLOW, TAGS, tagText } from './wishes.ts';

const SLOW_RENDER_MS = 4_000;

type FaultInput = z.input<typeof faultSchema>;

/** What a provider may do to submits, renders, looks, cancels and files: F-10, F-11 and F-14. */
const PROVIDER_FAULTS: readonly ((chance: Chance) => FaultInput)[] = [
  (chance) => ({ kind: 'slow_submit', ms: chance.whole(200, 7_000) }),
  () => ({ kind: 'reset_before_accept' }),
  () => ({ kind: 'reset_after_accept' }),
  () => ({ kind: 'answer_lost_then_ok' }),
  (chance) => ({ kind: 'status_429', retry_after: chance.whole(0, 3) }),
  (chance) => ({ kind: 'status_5xx', status: chance.pick([500, 502, 503]) }),
  () => ({ kind: 'status_5xx_after_accept' }),
  () => ({ kind: 'refuse' }),
  () => ({ kind: 'refuse_content' }),
  () => ({ kind: 'error_in_200' }),
  (chance) => ({ kind: 'html', status: chance.pick([200, 502]) }),
  () => ({ kind: 'missing_id' }),
  () => ({ kind: 'unknown_status', status: 'pondering' }),
  () => ({ kind: 'stuck' }),
  () => ({ kind: 'fail' }),
  () => ({ kind: 'moderated' }),
  (chance) => ({ kind: 'succeeded_without_output', output: chance.pick(['empty', 'null'] as const) }),
  (chance) => ({ kind: 'render_ms', ms: chance.whole(0, 8_000) }),
  () => ({ kind: 'link_404' }),
  () => ({ kind: 'link_html' }),
  () => ({ kind: 'link_truncated' }),
  () => ({ kind: 'link_empty' }),
  () => ({ kind: 'link_wrong_type' }),
  () => ({ kind: 'link_huge' }),
  (chance) => ({ kind: 'link_slow', ms: chance.whole(100, 500) }),
  () => ({ kind: 'link_redirect_private' }),
  (chance) => ({ kind: 'observe_5xx', status: chance.pick([500, 503, 429]) }),
  () => ({ kind: 'observe_404' }),
  () => ({ kind: 'observe_hang' }),
  () => ({ kind: 'observe_error_in_200' }),
  () => ({ kind: 'cancel_5xx' }),
  () => ({ kind: 'cancel_succeeded' }),
];

/** What may become of callbacks: F-12. */
const CALLBACK_FAULTS: readonly ((chance: Chance) => FaultInput)[] = [
  () => ({ kind: 'no_callbacks' }),
  () => ({ kind: 'callback_before_answer' }),
  () => ({ kind: 'callback_twice' }),
  () => ({ kind: 'callback_twenty' }),
  (chance) => ({ kind: 'callback_late', ms: chance.whole(1_000, 12_000) }),
  () => ({ kind: 'callback_reordered' }),
  () => ({ kind: 'callback_forged' }),
];

/** Faults of the simulators; each strikes a few times, for some of the prompts, and stays in force until it has. */
export class ProviderFaults {
  /** All that were ever in force, by provider. */
  readonly byProvider: Record<string, Fault[]> = {};
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

  /** Some at each of some simulators. @returns what was done, for people */
  async add(group: 'providers' | 'callbacks', chance: Chance): Promise<string> {
    const table = group === 'providers' ? PROVIDER_FAULTS : CALLBACK_FAULTS;
    const names = chance.shuffle(Object.keys(this.#urls)).slice(0, chance.whole(2, 4));
    const done: string[] = [];
    for (const name of names) {
      const faults = Array.from({ length: chance.whole(1, 3) }, () =>
        faultSchema.parse({
          ...chance.pick(table)(chance),
          match: { prompt: tagText(chance.whole(0, TAGS - 1)) },
          times: chance.whole(1, 3),
        }),
      );
      await new Control(this.#urls[name] ?? '').post('faults', faults);
      (this.byProvider[name] ??= []).push(...faults);
      done.push(`${name} ${faults.map(({ kind }) => kind).join('+')}`);
    }
    return done.join(', ');
  }
}
