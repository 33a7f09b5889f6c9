import { catalogueSchema } from '../../src/domain/catalogue.ts';
import type { Catalogue } from '../../src/domain/catalogue.ts';
import { fastModel, routeOf } from './provider-models.ts';

const polled = { callbacks: false };
/** So that the failures of one test shut no provider for the next one. */
const patient = { circuitFailures: 1_000 };
/** Time to kill a worker while its submit waits for an answer that comes late. */
const killable = {
  ...patient,
  submitHttpTimeoutMs: 16_000,
  submitLeaseMs: 26_000,
  submitStartToCloseMs: 40_000,
};
/** One that knows soon that it does not know, and asks again soon after. */
const brief = { ...patient, submitHttpTimeoutMs: 5_000, submitLeaseMs: 6_000, notFoundGraceMs: 500 };
const late = {
  ...patient,
  submitHttpTimeoutMs: 15_000,
  submitLeaseMs: 16_000,
  submitStartToCloseMs: 40_000,
  lateObservationsMs: [500, 1_500, 8_000, 20_000, 40_000],
};

/** Models for lost answers and late jobs. */
export const unknownCatalogue: Catalogue = catalogueSchema.parse({
  models: [
    fastModel('kill-infro', [routeOf('infro', polled)], killable),
    fastModel('kill-kling', [routeOf('kling', polled)], killable),
    ...['replicate', 'fal', 'bfl', 'crazyrouter', 'runway'].map((name) =>
      fastModel(`kill-${name}`, [routeOf(name)], killable),
    ),
    ...['kling', 'replicate', 'fal'].map((name) => fastModel(`lost-${name}`, [routeOf(name)], patient)),
    fastModel('infro-aigenway', [routeOf('infro'), routeOf('aigenway')], patient),
    fastModel('kling-fal', [routeOf('kling', polled), routeOf('fal')], brief),
    fastModel('replicate-fal', [routeOf('replicate'), routeOf('fal')], patient),
    ...['infro', 'kling', 'replicate', 'fal'].map((name) => fastModel(`late-${name}`, [routeOf(name)], late)),
  ],
});

const budget = { pollBudgetPerSecond: 20, firstPollMs: 600_000, safetyPollMs: 600_000 };

/** Two models of one provider: one is polled, the other waits for its callback. */
export const budgetCatalogue: Catalogue = catalogueSchema.parse({
  models: [
    fastModel('polled', [routeOf('infro', polled)], budget),
    fastModel('called', [routeOf('infro')], budget),
  ],
});
