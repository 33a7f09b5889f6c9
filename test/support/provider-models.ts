import { catalogueSchema } from '../../src/domain/catalogue.ts';
import type { Catalogue, Model } from '../../src/domain/catalogue.ts';
import type { Timings } from '../../src/domain/timings.ts';
import { fastCatalogue } from './catalogue.ts';

interface Cost {
  readonly amount: RegExp;
  readonly unit: string;
  readonly final: boolean;
  readonly source: string;
}

/** One provider as the end-to-end tests use it, and what is documented of it. */
export interface ProviderRow {
  readonly name: string;
  readonly route: object;
  readonly callbacks: boolean;
  /** What names the states in its callbacks. */
  readonly events: readonly string[];
  /** A documented 4xx of bad input; its words are the simulator's usual ones where none are given. */
  readonly refusal: { readonly status: number; readonly type?: string; readonly code?: string };
  /** What becomes of a wish to cancel a job that renders. */
  readonly cancel: 'confirmed' | 'accepted_may_bill' | 'unsupported';
  /** What stands in the books for a video of four seconds. */
  readonly cost: Cost;
}

const catalogueCost: Cost = { amount: /^0\.2$/, unit: 'USD', final: false, source: 'catalogue' };

/** Every provider; facts in the head of each adapter. */
export const PROVIDER_ROWS: readonly ProviderRow[] = [
  {
    name: 'infro',
    route: { providerModel: 'm-video' },
    callbacks: true,
    events: ['job.succeeded', 'job.failed', 'job.canceled', 'job.running'],
    refusal: { status: 400, type: 'invalid_request_error', code: 'invalid_prompt' },
    cancel: 'accepted_may_bill',
    cost: { amount: /^0\.2$/, unit: 'USD', final: false, source: 'observation' },
  },
  {
    name: 'aigenway',
    route: { providerModel: 'kling-v2-master', params: { provider: 'kling' } },
    callbacks: true,
    events: ['succeeded', 'failed', 'processing'],
    refusal: { status: 422, code: 'invalid_parameters' },
    cancel: 'unsupported',
    cost: { amount: /^0\.2$/, unit: 'USD', final: false, source: 'observation' },
  },
  {
    name: 'crazyrouter',
    route: { providerModel: 'veo3' },
    callbacks: false,
    events: [],
    refusal: { status: 400, type: 'invalid_request_error', code: 'invalid_request' },
    cancel: 'unsupported',
    cost: catalogueCost,
  },
  {
    name: 'replicate',
    route: { providerModel: 'google/veo-3' },
    callbacks: true,
    events: ['succeeded', 'failed', 'canceled', 'aborted', 'processing', 'starting'],
    refusal: { status: 422, code: 'Input validation failed' },
    cancel: 'accepted_may_bill',
    cost: { amount: /^\d+(\.\d+)?$/, unit: 'seconds', final: false, source: 'observation' },
  },
  {
    name: 'fal',
    route: { providerModel: 'fal-ai/veo3' },
    callbacks: true,
    events: ['OK', 'ERROR'],
    refusal: { status: 422, code: 'value_error' },
    cancel: 'accepted_may_bill',
    cost: catalogueCost,
  },
  {
    name: 'kling',
    route: { providerModel: 'kling-3.0', params: { settings: { multi_shot: false } } },
    callbacks: true,
    events: ['succeeded', 'failed', 'processing', 'submitted'],
    refusal: { status: 400, code: '1201' },
    cancel: 'unsupported',
    cost: { amount: /^2\.4$/, unit: 'units', final: true, source: 'observation' },
  },
  {
    name: 'runway',
    route: { providerModel: 'gen4.5', params: { ratio: '1280:720' } },
    callbacks: false,
    events: [],
    refusal: { status: 400 },
    cancel: 'accepted_may_bill',
    cost: { amount: /^20$/, unit: 'credits', final: true, source: 'observation' },
  },
];

/** The route of a provider as a catalogue has it. */
function routeOf(name: string, over: object = {}): object {
  const row = PROVIDER_ROWS.find((candidate) => candidate.name === name);
  return { provider: name, cost: { per: 'second', amount: '0.05', unit: 'USD' }, ...row?.route, ...over };
}

/** Four seconds of video, for 40 credits. */
export const video = (prompt: string) => ({ input: { prompt, duration_seconds: 4 } });

/** The model of a provider that is polled, in the catalogue below. */
export const polledModel = ({ name, callbacks }: ProviderRow): string =>
  callbacks ? `${name}-polled` : name;

const [base] = fastCatalogue.models as [Model];

/** A text-to-video model with the times of the fast catalogue. */
function fastModel(
  id: string,
  routes: readonly object[],
  timings: Partial<Timings> = {},
  over: object = {},
): object {
  return {
    ...base,
    id,
    title: id,
    routes,
    input: { prompt: {}, duration_seconds: { min: 3, max: 10, default: 4 } },
    price: { per: 'second', rates: [{ millicredits: 10_000 }] },
    deadlineSeconds: { default: 300, max: 3_600 },
    timings: { ...base.timings, ...timings },
    ...over,
  };
}

const perOutput = { per: 'output', rates: [{ millicredits: 5_000 }] };

const often = { pollMaxMs: 400 };

/** For each provider a model under its name, and `{name}-polled` where it offers callbacks; four for the other methods. */
export const providerCatalogue: Catalogue = catalogueSchema.parse({
  models: [
    ...PROVIDER_ROWS.map(({ name }) => fastModel(name, [routeOf(name)], often)),
    ...PROVIDER_ROWS.filter(({ callbacks }) => callbacks).map((row) =>
      fastModel(polledModel(row), [routeOf(row.name, { callbacks: false })], often),
    ),
    fastModel(
      'images',
      [{ provider: 'fal', providerModel: 'fal-ai/flux/schnell' }],
      {},
      {
        method: 'text-to-image',
        input: { prompt: {}, count: { max: 4, default: 1 } },
        price: perOutput,
        outputs: { mediaTypes: ['image/png'] },
      },
    ),
    fastModel(
      'animate',
      [routeOf('kling')],
      {},
      {
        method: 'image-to-video',
        input: { image_url: {}, prompt: {}, duration_seconds: { min: 3, max: 10, default: 4 } },
      },
    ),
    fastModel(
      'animate-either',
      [routeOf('kling'), { provider: 'runway', providerModel: 'gen4_turbo', params: { ratio: '1280:720' } }],
      {},
      {
        method: 'image-to-video',
        input: { image_url: {}, prompt: {}, duration_seconds: { min: 3, max: 10, default: 4 } },
      },
    ),
    fastModel(
      'speech',
      [{ provider: 'runway', providerModel: 'eleven_multilingual_v2' }],
      {},
      {
        method: 'text-to-speech',
        input: { text: {}, voice: { values: ['Maya'], default: 'Maya' } },
        price: perOutput,
        outputs: { mediaTypes: ['audio/wav'] },
      },
    ),
  ],
});

const polled = { callbacks: false };
/** So that the failures of one test shut no provider for the next one. */
const patient = { circuitFailures: 1_000 };
/** Time to kill a worker while its submit waits for an answer that comes late. */
const killable = { ...patient, submitHttpTimeoutMs: 11_000, submitLeaseMs: 12_000 };
/** One that knows soon that it does not know, and asks again soon after. */
const brief = { ...patient, submitHttpTimeoutMs: 1_000, submitLeaseMs: 1_500, notFoundGraceMs: 500 };
const late = {
  ...patient,
  submitHttpTimeoutMs: 6_000,
  submitLeaseMs: 7_000,
  lateObservationsMs: [500, 1_500, 8_000],
};

/** Models for lost answers and late jobs. */
export const unknownCatalogue: Catalogue = catalogueSchema.parse({
  models: [
    fastModel('kill-infro', [routeOf('infro', polled)], killable),
    fastModel('kill-kling', [routeOf('kling', polled)], killable),
    ...['replicate', 'fal', 'crazyrouter', 'runway'].map((name) =>
      fastModel(`kill-${name}`, [routeOf(name)], killable),
    ),
    ...['kling', 'replicate', 'fal'].map((name) => fastModel(`lost-${name}`, [routeOf(name)], patient)),
    fastModel('infro-aigenway', [routeOf('infro'), routeOf('aigenway')], patient),
    fastModel('kling-fal', [routeOf('kling', polled), routeOf('fal')], brief),
    fastModel('replicate-fal', [routeOf('replicate'), routeOf('fal')], patient),
    ...['infro', 'kling', 'replicate', 'fal'].map((name) => fastModel(`late-${name}`, [routeOf(name)], late)),
  ],
});

const budget = { pollBudgetPerSecond: 20, firstPollMs: 120_000, safetyPollMs: 120_000 };

/** Two models of one provider: one is polled, the other waits for its callback. */
export const budgetCatalogue: Catalogue = catalogueSchema.parse({
  models: [
    fastModel('polled', [routeOf('infro', polled)], budget),
    fastModel('called', [routeOf('infro')], budget),
  ],
});
