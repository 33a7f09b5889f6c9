import { catalogueSchema, type Catalogue } from './catalogue.ts';
import { VIDEO_MODELS } from './default-videos.ts';

const perOutput = (amount: string, unit = 'USD') => ({ per: 'output' as const, amount, unit });
const flux = { provider: 'bfl', providerModel: 'flux-2-pro', params: { output_format: 'png' } };
const fluxShapes = { values: ['1:1', '16:9', '9:16', '4:3', '3:4'], default: '1:1' };

/**
 * The catalogue used when CATALOGUE_FILE is not set. Model names and costs at the providers are examples: whoever sells
 * with Darkroom writes an own file with the models and prices of its contracts.
 */
export const DEFAULT_CATALOGUE: Catalogue = catalogueSchema.parse({
  models: [
    ...VIDEO_MODELS,
    {
      id: 'quick-image',
      title: 'Text to image, one to four at once',
      method: 'text-to-image',
      routes: [
        {
          provider: 'fal',
          providerModel: 'fal-ai/flux/schnell',
          params: { output_format: 'png' },
          cost: perOutput('0.003'),
        },
        {
          provider: 'replicate',
          providerModel: 'black-forest-labs/flux-schnell',
          params: { output_format: 'png' },
          cost: perOutput('0.003'),
        },
      ],
      input: {
        prompt: {},
        aspect_ratio: { values: ['1:1', '16:9', '9:16'], default: '1:1' },
        count: { max: 4, default: 1 },
        seed: {},
      },
      price: { per: 'output', rates: [{ millicredits: 2_500 }] },
      outputs: { mediaTypes: ['image/png'], maxBytes: 67_108_864 },
      expectedDurationSeconds: 10,
      deadlineSeconds: { default: 300, max: 1_800 },
    },
    {
      id: 'flux-image',
      title: 'Text to image by FLUX.2',
      method: 'text-to-image',
      // Three credits, of which 100 are 1 USD, for a megapixel (docs.bfl.ai/quick_start/pricing).
      routes: [{ ...flux, cost: perOutput('3', 'credits') }],
      input: { prompt: {}, aspect_ratio: fluxShapes, seed: {} },
      price: { per: 'output', rates: [{ millicredits: 6_000 }] },
      outputs: { mediaTypes: ['image/png'], maxBytes: 67_108_864 },
      expectedDurationSeconds: 15,
      deadlineSeconds: { default: 300, max: 1_800 },
    },
    {
      id: 'flux-edit',
      title: 'An image changed as the prompt says, by FLUX.2',
      method: 'text-to-image',
      // Each megapixel of the given image is 1.5 credits more: cost and price are those of the largest that is taken, four.
      routes: [{ ...flux, cost: perOutput('9', 'credits') }],
      input: { image_url: { maxSide: 2_048 }, prompt: {}, aspect_ratio: fluxShapes, seed: {} },
      price: { per: 'output', rates: [{ millicredits: 18_000 }] },
      outputs: { mediaTypes: ['image/png'], maxBytes: 67_108_864 },
      expectedDurationSeconds: 15,
      deadlineSeconds: { default: 300, max: 1_800 },
    },
    {
      id: 'uni-image',
      title: 'Text to image by Luma Uni, in 2K',
      method: 'text-to-image',
      routes: [
        {
          provider: 'luma',
          providerModel: 'uni-1',
          params: { output_format: 'png' },
          cost: perOutput('0.0404'),
        },
      ],
      input: {
        prompt: { maxCharacters: 6_000 },
        aspect_ratio: { values: ['1:1', '16:9', '9:16', '3:2', '2:3'], default: '1:1' },
      },
      price: { per: 'output', rates: [{ millicredits: 12_000 }] },
      outputs: { mediaTypes: ['image/png'], maxBytes: 67_108_864 },
      expectedDurationSeconds: 30,
      deadlineSeconds: { default: 300, max: 1_800 },
    },
    {
      id: 'clear-speech',
      title: 'Text to speech',
      method: 'text-to-speech',
      routes: [
        {
          provider: 'runway',
          providerModel: 'eleven_multilingual_v2',
          cost: { per: 'thousand_characters', amount: '20', unit: 'credits' },
        },
      ],
      input: { text: { maxCharacters: 1_000 }, voice: { values: ['Maya', 'Arjun'], default: 'Maya' } },
      price: { per: 'thousand_characters', rates: [{ millicredits: 30_000 }] },
      outputs: { mediaTypes: ['audio/wav'], maxBytes: 268_435_456 },
      expectedDurationSeconds: 20,
      deadlineSeconds: { default: 300, max: 1_800 },
      timings: { pollInitialMs: 5_000 },
    },
  ],
});
