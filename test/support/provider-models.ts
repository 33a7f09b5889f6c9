import { catalogueSchema } from '../../src/domain/catalogue.ts';
import type { Catalogue, Model } from '../../src/domain/catalogue.ts';
import type { Timings } from '../../src/domain/timings.ts';
import { fastCatalogue, unhurried } from './catalogue.ts';

/** A cost as its submission keeps it. */
export interface Cost {
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
  /** How a success without output ends; default no_output. Here it shows only when the output is fetched. */
  readonly emptyOutput?: 'output_lost';
  /** What stands in the books for a video of four seconds. */
  readonly cost: Cost;
  /** And for one without output, where the provider tells it; else the catalogue's estimate stays. */
  readonly unbilled?: Partial<Record<'failed' | 'moderated' | 'cancelled', Cost>>;
}

export const catalogueCost: Cost = { amount: /^0\.2$/, unit: 'USD', final: false, source: 'catalogue' };

const cost = (amount: string, unit: string, final: boolean, source: string): Cost => ({
  amount: new RegExp(`^${amount.replaceAll('.', '\\.')}$`),
  unit,
  final,
  source,
});
const told = (amount: string, unit: string) => cost(amount, unit, true, 'observation');
const reserved = (amount: string, unit: string) => cost(amount, unit, false, 'submit');
/** The seconds that a model of Replicate ran for. */
const rendered: Cost = { amount: /^\d+(\.\d+)?$/, unit: 'seconds', final: false, source: 'observation' };

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
    // What is reserved at the submit is told again at a success only.
    unbilled: { failed: reserved('0.2', 'USD'), moderated: reserved('0.2', 'USD') },
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
    cost: rendered,
    unbilled: { failed: rendered, moderated: rendered },
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
    // Moderated input is not given back; a task that was cancelled is shown no more.
    unbilled: {
      failed: told('0', 'credits'),
      moderated: told('20', 'credits'),
      cancelled: reserved('20', 'credits'),
    },
  },
  {
    name: 'bfl',
    // FLUX 3 video takes five seconds at least.
    route: {
      providerModel: 'flux-3-video',
      params: { $fields: { duration_seconds: { name: 'duration', values: { 4: 5 } } } },
    },
    callbacks: true,
    events: ['Ready', 'Error', 'Request Moderated', 'Pending'],
    refusal: { status: 422, code: 'missing' },
    cancel: 'unsupported',
    cost: { amount: /^85$/, unit: 'credits', final: true, source: 'observation' },
    unbilled: { failed: told('0', 'credits'), moderated: told('0', 'credits') },
  },
  {
    name: 'openaivideos',
    route: { providerModel: 'sora-2' },
    callbacks: false,
    events: [],
    refusal: { status: 400, type: 'invalid_request_error', code: 'invalid_value' },
    cancel: 'unsupported',
    emptyOutput: 'output_lost',
    cost: catalogueCost,
  },
  {
    name: 'luma',
    // Ray makes five seconds or ten.
    route: {
      providerModel: 'ray-3.2',
      params: { $fields: { duration_seconds: { name: 'duration', values: { 4: '5s' } } } },
    },
    callbacks: false,
    events: [],
    refusal: { status: 400 },
    cancel: 'unsupported',
    cost: catalogueCost,
  },
  {
    name: 'veo',
    route: { providerModel: 'veo-3.1-generate-preview' },
    callbacks: true,
    events: ['video.generated'],
    refusal: { status: 400, code: 'INVALID_ARGUMENT' },
    cancel: 'unsupported',
    cost: catalogueCost,
    unbilled: { moderated: told('0', 'USD') },
  },
  {
    name: 'minimax',
    route: { providerModel: 'MiniMax-H3', params: { resolution: '768P', ratio: '16:9' } },
    callbacks: true,
    events: ['succeeded', 'failed', 'cancelled', 'running', 'queued'],
    refusal: { status: 400, code: '2013' },
    // Only while it waits in MiniMax's queue.
    cancel: 'confirmed',
    cost: { amount: /^4$/, unit: 'seconds', final: true, source: 'observation' },
    unbilled: { cancelled: told('0', 'seconds') },
  },
];

/** The route of a provider as a catalogue has it. */
export function routeOf(name: string, over: object = {}): object {
  const row = PROVIDER_ROWS.find((candidate) => candidate.name === name);
  return { provider: name, cost: { per: 'second', amount: '0.05', unit: 'USD' }, ...row?.route, ...over };
}

/** Four seconds of video, for 40 credits. */
export const video = (prompt: string) => ({ input: { prompt, duration_seconds: 4 } });

/** The model of a provider that is polled, in the catalogue below. */
export const polledModel = ({ name, callbacks }: ProviderRow): string =>
  callbacks ? `${name}-polled` : name;

const [base] = fastCatalogue.models as [Model];

/** A text-to-video model with the times of the fast catalogue, its submits unhurried. */
export function fastModel(
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
    timings: { ...base.timings, ...unhurried, ...timings },
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
      'edit',
      [{ provider: 'bfl', providerModel: 'flux-2-pro', params: { output_format: 'png' } }],
      {},
      {
        method: 'text-to-image',
        input: { image_url: {}, prompt: {} },
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
      'animate-inline',
      [routeOf('veo')],
      {},
      {
        method: 'image-to-video',
        input: { image_url: {}, prompt: {}, duration_seconds: { min: 4, max: 8, default: 4 } },
      },
    ),
    fastModel(
      'animate-relayed',
      [routeOf('openaivideos')],
      {},
      {
        method: 'image-to-video',
        input: { image_url: {}, prompt: {}, duration_seconds: { values: [4, 8], default: 4 } },
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
