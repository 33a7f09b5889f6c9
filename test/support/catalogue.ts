import { catalogueSchema } from '../../src/domain/catalogue.ts';
import type { Catalogue } from '../../src/domain/catalogue.ts';

const infro = (callbacks = true) => ({ provider: 'infro', providerModel: 'm-video', callbacks });
const aigenway = {
  provider: 'aigenway',
  providerModel: 'kling-v2-master',
  params: { provider: 'kling' },
};

const model = (
  id: string,
  routes: readonly object[],
  timings: Record<string, number>,
  deadlineSeconds = 60,
) => ({
  id,
  title: id,
  method: 'text-to-video',
  routes: routes.map((route) => ({ cost: { per: 'second', amount: '0.05', unit: 'USD' }, ...route })),
  input: { prompt: {}, duration_seconds: { min: 1, max: 15, default: 5 } },
  price: { per: 'second', rates: [{ millicredits: 20_000 }] },
  expectedDurationSeconds: 1,
  deadlineSeconds: { default: deadlineSeconds, max: 3_600 },
  timings: {
    submitHttpTimeoutMs: 2_000,
    submitLeaseMs: 3_000,
    submitStartToCloseMs: 20_000,
    submitQueueMs: 5_000,
    observeHttpTimeoutMs: 2_000,
    notFoundGraceMs: 1_000,
    deadlineGraceMs: 1_500,
    firstPollMs: 20_000,
    safetyPollMs: 20_000,
    pollInitialMs: 300,
    pollMaxMs: 1_000,
    observeSpacingMs: 100,
    capacityRetryMs: 500,
    storeRetryMs: 500,
    storeLeaseMs: 3_000,
    ...timings,
  },
});

/** The shape of the default catalogue with times that a test can wait for. Times are configuration, never skipped. */
export const fastCatalogue: Catalogue = catalogueSchema.parse({
  models: [
    model('by-callback', [infro()], {}),
    model('by-poll', [infro(false)], {}),
    model('early-look', [infro()], { firstPollMs: 1_500 }),
    model('short-deadline', [infro()], {}, 12),
    model('short-store', [infro()], { storeForMs: 2_500 }),
    model('slow-lease', [infro()], { submitHttpTimeoutMs: 6_000, submitLeaseMs: 8_000 }),
    model('two-providers', [infro(), aigenway], {}),
  ],
});

/** For tests that need the answer to every submit: a slow machine must not make it unknown, which stays so. */
export const unhurried = {
  submitHttpTimeoutMs: 10_000,
  submitLeaseMs: 12_000,
  submitStartToCloseMs: 25_000,
} as const;

/** The same models with those times; tests that kill a worker in a submit need the short lease. */
export const unhurriedCatalogue: Catalogue = {
  models: fastCatalogue.models.map((one) => ({ ...one, timings: { ...one.timings, ...unhurried } })),
};
