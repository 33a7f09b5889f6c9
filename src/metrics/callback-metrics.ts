import { Counter, Gauge, Registry } from 'prom-client';
import {
  CALLBACK_ANSWERS,
  CALLBACK_FAILURES,
  OTHER_PROVIDER,
  type CallbackAnswer,
  type CallbackFailure,
} from './labels.ts';

/** What this process has counted of providers' callbacks. */
export const callbackMetrics = new Registry();

const registers = [callbackMetrics];
const answers = new Counter({
  name: 'darkroom_callbacks_total',
  help: 'Callbacks by how they were answered: the outcome of a verified one (200), challenge (200, a provider’s check of the URL), unauthorized (401), refused (other 4xx), unavailable (503), failed (500).',
  labelNames: ['provider', 'answer'],
  registers,
});
const failures = new Counter({
  name: 'darkroom_callback_failures_total',
  help: 'Callbacks that were not taken, by reason.',
  labelNames: ['provider', 'reason'],
  registers,
});
const lastGood = new Gauge({
  name: 'darkroom_callback_last_good_timestamp_seconds',
  help: 'When this process last took a verified callback (unix time); absent until the first one.',
  labelNames: ['provider'],
  registers,
});

/** Counts one verified callback. */
export function countTakenCallback(provider: string, answer: CallbackAnswer, nowMs: number): void {
  answers.inc({ provider, answer });
  lastGood.set({ provider }, nowMs / 1_000);
}

/** Counts one check of our URL that was answered: no callback, so none was last taken now. */
export function countCallbackChallenge(provider: string): void {
  answers.inc({ provider, answer: 'challenge' });
}

/** Counts one callback that was not taken. */
export function countCallbackFailure(provider: string, reason: CallbackFailure): void {
  failures.inc({ provider, reason });
  answers.inc({ provider, answer: CALLBACK_FAILURES[reason] });
}

/** Every series from 0 on: a counter that appears with its first event shows no increase. */
export function presetCallbackMetrics(providers: Iterable<string>): void {
  for (const provider of [...providers, OTHER_PROVIDER]) {
    for (const answer of CALLBACK_ANSWERS) answers.inc({ provider, answer }, 0);
    for (const reason of Object.keys(CALLBACK_FAILURES)) failures.inc({ provider, reason }, 0);
  }
}
