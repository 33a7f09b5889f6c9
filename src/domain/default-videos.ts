const seconds = (amount: string, unit = 'USD') => ({ per: 'second' as const, amount, unit });
const deadlineSeconds = { default: 900, max: 3_600 };
/** One whole shot; Kling’s own default cuts a clip into several. */
const kling = {
  provider: 'kling',
  providerModel: 'kling-3.0',
  params: { settings: { multi_shot: false } },
  cost: seconds('0.6', 'units'),
};
const ray = { provider: 'luma', providerModel: 'ray-3.2' };
const rayShapes = { values: ['16:9', '9:16', '1:1', '4:3', '3:4', '21:9'], default: '16:9' };
const hailuo = { provider: 'minimax', providerModel: 'MiniMax-H3' };
const hailuoPrice = {
  per: 'second',
  rates: [{ when: { resolution: '2k' }, millicredits: 42_000 }, { millicredits: 26_000 }],
};
const infro = { provider: 'infro', providerModel: 'm-video' };
const veo = { provider: 'veo', providerModel: 'veo-3.1-generate-preview' };
/** 1080p is for eight seconds only, so it is not offered. */
const veoInput = {
  duration_seconds: { values: [4, 6, 8], default: 8 },
  resolution: { values: ['720p'], default: '720p' },
  aspect_ratio: { values: ['16:9', '9:16'], default: '16:9' },
};

/** The videos of the default catalogue; see default-catalogue.ts. */
export const VIDEO_MODELS = [
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
    id: 'veo-video',
    title: 'Text to video with sound, by Google Veo',
    method: 'text-to-video',
    // What Google asked for a second (ai.google.dev/gemini-api/docs/pricing) until it closed Veo there on 2026-10-22.
    routes: [{ ...veo, cost: seconds('0.4') }],
    input: { prompt: { maxCharacters: 4_000 }, ...veoInput },
    price: { per: 'second', rates: [{ millicredits: 160_000 }] },
    expectedDurationSeconds: 120,
    deadlineSeconds: { default: 1_800, max: 7_200 },
    timings: { pollInitialMs: 5_000 },
  },
  {
    id: 'veo-animate',
    title: 'Image to video with sound, by Google Veo',
    method: 'image-to-video',
    routes: [{ ...veo, cost: seconds('0.4') }],
    input: {
      image_url: { mediaTypes: ['image/png', 'image/jpeg'], maxBytes: 14_000_000 },
      prompt: { maxCharacters: 4_000 },
      ...veoInput,
    },
    price: { per: 'second', rates: [{ millicredits: 160_000 }] },
    expectedDurationSeconds: 120,
    deadlineSeconds: { default: 1_800, max: 7_200 },
    timings: { pollInitialMs: 5_000 },
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
    id: 'flux-video',
    title: 'Text to video with sound, by FLUX 3',
    method: 'text-to-video',
    routes: [
      {
        provider: 'bfl',
        providerModel: 'flux-3-video',
        // 17 credits a second in hd, 1.7 times that in fhd.
        cost: { ...seconds('17', 'credits'), rates: [{ when: { resolution: 'fhd' }, amount: '28.9' }] },
      },
    ],
    input: {
      prompt: {},
      duration_seconds: { min: 5, max: 20, default: 5 },
      resolution: { values: ['hd', 'fhd'], default: 'hd' },
      aspect_ratio: { values: ['16:9', '9:16', '1:1'], default: '16:9' },
      audio: { default: true },
    },
    price: {
      per: 'second',
      rates: [{ when: { resolution: 'fhd' }, millicredits: 60_000 }, { millicredits: 35_000 }],
    },
    expectedDurationSeconds: 120,
    deadlineSeconds: { default: 1_800, max: 7_200 },
  },
  {
    id: 'relayed-video',
    title: 'Text to video by the aggregator of your choice',
    method: 'text-to-video',
    // What OpenAI itself asked for sora-2 in these sizes until it closed; each aggregator has a price of its own.
    routes: [{ provider: 'openaivideos', providerModel: 'sora-2', cost: seconds('0.1') }],
    input: {
      prompt: {},
      duration_seconds: { values: [4, 8, 12], default: 4 },
      aspect_ratio: { values: ['16:9', '9:16'], default: '16:9' },
    },
    price: { per: 'second', rates: [{ millicredits: 25_000 }] },
    expectedDurationSeconds: 120,
    deadlineSeconds: { default: 1_800, max: 7_200 },
    timings: { pollInitialMs: 5_000 },
  },
  {
    id: 'ray-video',
    title: 'Text to video by Luma Ray',
    method: 'text-to-video',
    // Luma's price of 5 s in 720p (docs.agents.lumalabs.ai/guides/pricing); 10 s cost three times as much, so not offered.
    routes: [{ ...ray, cost: seconds('0.06') }],
    input: {
      prompt: { maxCharacters: 6_000 },
      duration_seconds: { values: [5], default: 5 },
      resolution: { values: ['720p'], default: '720p' },
      aspect_ratio: rayShapes,
    },
    price: { per: 'second', rates: [{ millicredits: 24_000 }] },
    expectedDurationSeconds: 120,
    deadlineSeconds: { default: 1_800, max: 7_200 },
  },
  {
    id: 'ray-animate',
    title: 'Image to video by Luma Ray',
    method: 'image-to-video',
    routes: [{ ...ray, cost: seconds('0.06') }],
    input: {
      image_url: { maxBytes: 20_000_000 },
      prompt: { maxCharacters: 6_000 },
      duration_seconds: { values: [5], default: 5 },
      resolution: { values: ['720p'], default: '720p' },
      aspect_ratio: rayShapes,
    },
    price: { per: 'second', rates: [{ millicredits: 24_000 }] },
    expectedDurationSeconds: 120,
    deadlineSeconds: { default: 1_800, max: 7_200 },
  },
  {
    id: 'hailuo-video',
    title: 'Text to video with sound, by MiniMax H3',
    method: 'text-to-video',
    // In the unit of its final cost, so that a budget counts both alike. A second is 0.08 USD in 768P, 0.13 in 2K
    // (platform.minimax.io/docs/guides/pricing-paygo).
    routes: [{ ...hailuo, cost: seconds('1', 'seconds') }],
    input: {
      prompt: { maxCharacters: 7_000 },
      duration_seconds: { min: 4, max: 15, default: 5 },
      resolution: { values: ['768p', '2k'], default: '768p' },
      aspect_ratio: { values: ['16:9', '9:16', '1:1', '4:3', '3:4', '21:9'], default: '16:9' },
    },
    price: hailuoPrice,
    expectedDurationSeconds: 300,
    deadlineSeconds: { default: 1_800, max: 7_200 },
    timings: { pollInitialMs: 10_000 },
  },
  {
    id: 'hailuo-animate',
    title: 'Image to video with sound, by MiniMax H3',
    method: 'image-to-video',
    routes: [{ ...hailuo, cost: seconds('1', 'seconds') }],
    input: {
      image_url: {
        mediaTypes: ['image/png', 'image/jpeg', 'image/webp'],
        maxBytes: 30_000_000,
        minSide: 256,
        maxSide: 5_760,
      },
      prompt: { maxCharacters: 7_000 },
      duration_seconds: { min: 4, max: 15, default: 5 },
      resolution: { values: ['768p', '2k'], default: '768p' },
    },
    price: hailuoPrice,
    expectedDurationSeconds: 300,
    deadlineSeconds: { default: 1_800, max: 7_200 },
    timings: { pollInitialMs: 10_000 },
  },
];
