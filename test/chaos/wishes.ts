import { PROVIDER_ROWS } from '../support/provider-models.ts';
import { LARGEST_PROMPT, USUAL_MODELS } from './catalogue.ts';
import type { Chance } from './random.ts';
import type { LoadShape } from './scenarios.ts';
import { POOR_ACCOUNT, RICH_ACCOUNTS } from './tenant.ts';

/** Parts into which all prompts fall, so that a fault of a simulator meets a few of them. */
export const TAGS = 12;

/** What a fault of a simulator matches: the jobs of this part. */
export function tagText(tag: number): string {
  return `[t${tag}]`;
}

/** Jobs with this in their prompt render for seconds, so that a cancel meets them. */
export const SLOW = '[slow] ';
/** Those of providers that can be asked to cancel. */
const SLOW_MODELS = PROVIDER_ROWS.filter(({ cancel }) => cancel !== 'unsupported').map(({ name }) => name);

/** One that is cancelled at its provider, most likely while it renders. */
export function wishToCancel(seed: number, number: number): Wish {
  return {
    prompt: `chaos ${seed} to be cancelled no ${number}; ${SLOW}`,
    model: SLOW_MODELS[number % SLOW_MODELS.length] ?? 'infro',
    account: 'default',
    deadlineSeconds: 60,
    toldByUrl: false,
    cancelAfterMs: 1_500,
    repeated: false,
    idempotencyKey: `chaos-${seed}-to-be-cancelled-${number}`,
    tooLong: false,
  };
}

/** One whose way leads past every other kill point: told by a callback or asked for, and two webhooks at its end. */
export function wishToPass(seed: number, number: number): Wish {
  return {
    prompt: `chaos ${seed} to pass a point no ${number}; quickly`,
    model: number % 3 === 2 ? 'infro-polled' : 'infro',
    account: 'default',
    deadlineSeconds: 60,
    toldByUrl: true,
    cancelAfterMs: null,
    repeated: false,
    idempotencyKey: `chaos-${seed}-to-pass-a-point-${number}`,
    tooLong: false,
  };
}

/** One generation as the tenant's backend will ask for it. */
export interface Wish {
  readonly prompt: string;
  readonly model: string;
  readonly account: string;
  readonly deadlineSeconds: number;
  readonly toldByUrl: boolean;
  /** After it was asked for; null = never. */
  readonly cancelAfterMs: number | null;
  /** Asked for again under the same key after its answer. */
  readonly repeated: boolean;
  readonly idempotencyKey: string;
  /** Longer than the model accepts. */
  readonly tooLong: boolean;
}

/** All that is asked for, in order. */
export function drawWishes(chance: Chance, seed: number, count: number, shape: LoadShape): Wish[] {
  // A short run can't wait long for what nobody finds again.
  const [shortest, longest] = count <= 100 ? [40, 60] : [50, 90];
  return Array.from({ length: count }, (_, number) => {
    const cancelAfterMs = chance.hits(shape.cancelled) ? chance.whole(0, 5_000) : null;
    const slow = cancelAfterMs !== null && chance.hits(0.6) ? SLOW : '';
    const words = `chaos ${seed} no ${number}; ${tagText(chance.whole(0, TAGS - 1))} ${slow}`;
    const size = shape.largePrompts && chance.hits(0.04) ? chance.pick(['largest', 'longer']) : 'usual';
    const length = LARGEST_PROMPT + (size === 'longer' ? 1 : 0);
    return {
      prompt: size === 'usual' ? words : words.padEnd(length, 'a very long story '),
      model: size === 'usual' ? chance.pick(USUAL_MODELS) : 'large',
      account: chance.hits(0.08) ? POOR_ACCOUNT : chance.pick(RICH_ACCOUNTS),
      deadlineSeconds: chance.whole(shortest, longest),
      toldByUrl: chance.hits(0.3),
      cancelAfterMs,
      repeated: chance.hits(0.1),
      idempotencyKey: `chaos-${seed}-${number}-${chance.whole(0, 999_999)}`,
      tooLong: size === 'longer',
    };
  });
}
