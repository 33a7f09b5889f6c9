import { catalogueSchema, type Catalogue } from './catalogue.ts';

const seconds = (amount: string, unit = 'USD') => ({ per: 'second' as const, amount, unit });
const perOutput = (amount: string, unit = 'USD') => ({ per: 'output' as const, amount, unit });
const deadlineSeconds = { default: 900, max: 3_600 };
/** One whole shot; Kling’s own default cuts a clip into several. */
const kling = {
  provider: 'kling',
  providerModel: 'kling-3.0',
  params: { settings: { multi_shot: false } },
  cost: seconds('0.6', 'units'),
};
const infro = { provider: 'infro', providerModel: 'm-video' };

/**
 * The catalogue used when CATALOGUE_FILE is not set. Model names and costs at the providers are examples: whoever sells
 * with Darkroom writes an own file with the models and prices of its contracts.
 */
export const DEFAULT_CATALOGUE: Catalogue = catalogueSchema.parse({
  models: [
    {
      id: 'infro-video',
      title: 'INFRO text to video',
      method: 'text-to-video',
      routes: [{ ...infro, cost: seconds('0.05') }],
      input: { prompt: {}, duration_seconds: { min: 1, max: 15, default: 5 } },
      price: { per: 'second', rates: [{ millicredits: 20_000 }] },
      expectedDurationSeconds: 60,
      deadlineSeconds,
    },
    {
      id: 'infro-video-polled',
      title: 'INFRO text to video, without callbacks',
      method: 'text-to-video',
      routes: [{ ...infro, callbacks: false, cost: seconds('0.05') }],
      input: { prompt: {}, duration_seconds: { min: 1, max: 15, default: 5 } },
      price: { per: 'second', rates: [{ millicredits: 20_000 }] },
      expectedDurationSeconds: 60,
      deadlineSeconds,
    },
    {
      id: 'standard-video',
      title: 'Text to video, by whichever provider can take it',
      method: 'text-to-video',
      routes: [
        { ...infro, cost: seconds('0.05') },
        { provider: 'aigenway', providerModel: 'kling-v2-master', params: { provider: 'kling' } },
        { provider: 'crazyrouter', providerModel: 'veo3' },
      ],
      input: { prompt: {}, duration_seconds: { values: [5, 10], default: 5 } },
      price: { per: 'second', rates: [{ millicredits: 22_500 }] },
      expectedDurationSeconds: 90,
      deadlineSeconds,
    },
    {
      id: 'cinema-video',
      title: 'Text to video with sound, in two resolutions',
      method: 'text-to-video',
      routes: [kling, { provider: 'fal', providerModel: 'fal-ai/veo3', cost: seconds('0.4') }],
      input: {
        prompt: { maxCharacters: 2_500 },
        duration_seconds: { values: [4, 8], default: 8 },
        resolution: { values: ['720p', '1080p'], default: '720p' },
        aspect_ratio: { values: ['16:9', '9:16'], default: '16:9' },
        audio: { default: false },
      },
      price: {
        per: 'second',
        rates: [{ when: { resolution: '1080p' }, millicredits: 60_000 }, { millicredits: 40_000 }],
        adjustments: [{ when: { audio: true }, percent: 150 }],
      },
      expectedDurationSeconds: 180,
      deadlineSeconds: { default: 1_800, max: 7_200 },
    },
    {
      id: 'animate-image',
      title: 'Image to video',
      method: 'image-to-video',
      routes: [
        kling,
        {
          provider: 'runway',
          providerModel: 'gen4_turbo',
          params: { ratio: '1280:720' },
          cost: seconds('5', 'credits'),
        },
      ],
      input: {
        // What both take: Kling's limits are the narrower ones (jpg or png, 10 MB, 300 pixels a side).
        image_url: { mediaTypes: ['image/png', 'image/jpeg'], maxBytes: 10_000_000, minSide: 300 },
        prompt: { maxCharacters: 1_000 },
        duration_seconds: { values: [5, 10], default: 5 },
      },
      price: { per: 'second', rates: [{ millicredits: 35_000 }] },
      expectedDurationSeconds: 120,
      deadlineSeconds: { default: 1_800, max: 7_200 },
      // Runway asks for at most one look in five seconds.
      timings: { pollInitialMs: 5_000 },
    },
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
