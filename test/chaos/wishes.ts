import { PROVIDER_ROWS } from '../support/provider-models.ts';
import { FROM_IMAGE, LARGEST_PROMPT, MANY, USUAL_MODELS } from './catalogue.ts';
import type { Chance } from './random.ts';
import type { LoadShape } from './scenarios.ts';
import { POOR_ACCOUNT, RICH_ACCOUNTS } from './tenant.ts';

/** Parts into which all prompts fall, so that a fault of a simulator meets a few of them. */
export const TAGS = 12;

/** What a fault of a simulator matches: the jobs of this part. */
export function tagText(tag: number): string {
  return `[t${tag}]`;
}

/** Begins the prompt of a generation of which some outputs are to be lost; `partialPrices` judges what it came to. */
export const IN_PART = 'chaos part of ';

/** Jobs with this in their prompt render for seconds, so that a cancel meets them. */
export const SLOW = '[slow] ';
/** Those of providers that can be asked to cancel. */
const SLOW_MODELS = PROVIDER_ROWS.filter(({ cancel }) => cancel !== 'unsupported').map(({ name }) => name);

/** One that is cancelled at its provider, most likely while it renders. */
export function wishToCancel(seed: number, number: number): Wish {
  return {
    ...PLAIN,
    prompt: `chaos ${seed} to be cancelled no ${number}; ${SLOW}`,
    model: SLOW_MODELS[number % SLOW_MODELS.length] ?? 'infro',
    cancelAfterMs: 1_500,
    idempotencyKey: `chaos-${seed}-to-be-cancelled-${number}`,
  };
}

/** One whose way leads past every other kill point: told by a callback or asked for, and two webhooks at its end. */
export function wishToPass(seed: number, number: number): Wish {
  return {
    ...PLAIN,
    prompt: `chaos ${seed} to pass a point no ${number}; quickly`,
    model: number % 3 === 2 ? 'infro-polled' : 'infro',
    toldByUrl: true,
    idempotencyKey: `chaos-${seed}-to-pass-a-point-${number}`,
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
  /** By which of the two front doors: `POST /v1/generations`, or `POST /v1/videos`. */
  readonly door: 'generations' | 'videos';
  /** An image is uploaded first, and worked from. */
  readonly fromImage: boolean;
}

/** What is usual of a wish. */
const PLAIN = {
  account: 'default',
  deadlineSeconds: 60,
  toldByUrl: false,
  cancelAfterMs: null,
  repeated: false,
  tooLong: false,
  door: 'generations',
  fromImage: false,
} as const satisfies Partial<Wish>;

/** One that costs as much as any, on this account. */
export function wishOn(account: string, number: number): Wish {
  return {
    ...PLAIN,
    prompt: `chaos ${account} no ${number}; of the last credits`,
    model: 'infro',
    account,
    idempotencyKey: `chaos-${account}-${number}`,
  };
}

/** One that meets what a provider does to prompts with this text; cancelled while it renders where that is what it meets. */
export function wishToMeet(name: string, provider: string, text: string, isCancelled: boolean): Wish {
  return {
    ...PLAIN,
    prompt: `chaos ${name} to meet ${provider}; ${text} ${isCancelled ? SLOW : ''}`,
    model: provider,
    deadlineSeconds: 40,
    cancelAfterMs: isCancelled ? 1_500 : null,
    idempotencyKey: `chaos-${name}-to-meet-${provider}`,
  };
}

/** One with several outputs; `words` are in no other prompt. */
export function wishForMany(words: string): Wish {
  return {
    ...PLAIN,
    prompt: `${words}; several`,
    model: MANY,
    idempotencyKey: words.replaceAll(/\W+/g, '-'),
  };
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
    const fromImage = size === 'usual' && chance.hits(0.06);
    const model = fromImage ? FROM_IMAGE : size === 'usual' ? chance.pick(USUAL_MODELS) : 'large';
    const isVideo = size === 'usual' && model !== MANY;
    const door = isVideo && chance.hits(0.15) ? 'videos' : 'generations';
    return {
      prompt: size === 'usual' ? words : words.padEnd(length, 'a very long story '),
      model,
      account: chance.hits(0.08) ? POOR_ACCOUNT : chance.pick(RICH_ACCOUNTS),
      deadlineSeconds: chance.whole(shortest, longest),
      // That shape has no callback_url.
      toldByUrl: chance.hits(0.3) && door === 'generations',
      cancelAfterMs,
      repeated: chance.hits(0.1),
      idempotencyKey: `chaos-${seed}-${number}-${chance.whole(0, 999_999)}`,
      tooLong: size === 'longer',
      door,
      fromImage,
    };
  });
}
