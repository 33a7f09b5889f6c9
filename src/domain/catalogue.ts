import { z } from 'zod';

/** All times of a generation, in milliseconds; frozen on the generation, so that tests and operators can shorten them. */
const timings = {
  submitHttpTimeoutMs: z.int().positive().default(30_000),
  submitLeaseMs: z.int().positive().default(40_000),
  submitStartToCloseMs: z.int().positive().default(50_000),
  /** How long a submit may wait for a worker of its provider before the rows are looked at again. */
  submitQueueMs: z.int().positive().default(300_000),
  observeHttpTimeoutMs: z.int().positive().default(15_000),
  /** How long an answer "no such job" still means "running" after the submit. */
  notFoundGraceMs: z.int().nonnegative().default(60_000),
  /** After the deadline and the cancel: how long the job is still observed before `expired`. */
  deadlineGraceMs: z.int().nonnegative().default(30_000),
  /** Callbacks expected: first poll at max(this, expected duration), then every `safetyPollMs`. */
  firstPollMs: z.int().positive().default(60_000),
  safetyPollMs: z.int().positive().default(180_000),
  /** No callbacks: first poll, ×1.5 up to `pollMaxMs`, with jitter. */
  pollInitialMs: z.int().positive().default(2_000),
  pollMaxMs: z.int().positive().default(30_000),
  /** At most one observation of a job within this time, whatever asks for it. */
  observeSpacingMs: z.int().nonnegative().default(2_000),
  capacityRetryMs: z.int().positive().default(5_000),
  /** How long a `replay` provider keeps a key. */
  replayWindowMs: z.int().positive().default(86_400_000),
  /** How long after the observed success storing is tried, if the provider's link lives longer. */
  storeForMs: z.int().positive().default(86_400_000),
  storeRetryMs: z.int().positive().default(5_000),
  storeLeaseMs: z.int().positive().default(15_000),
};
export const timingsSchema = z.strictObject(timings).prefault({});
/** As it was stored with a generation: what a newer version has added is passed over, so that a rollback can read it. */
export const storedTimingsSchema = z.object(timings);
export type Timings = z.infer<typeof timingsSchema>;

const routeSchema = z.strictObject({
  provider: z.string().min(1),
  providerModel: z.string().min(1),
  /** false = this route is polled only, whatever the provider offers. */
  callbacks: z.boolean().default(true),
});

/** One model of the catalogue. Credits are whole numbers; limits bound what a tenant may send. */
export const modelSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9.-]{0,63}$/),
  title: z.string().min(1),
  method: z.literal('text-to-video'),
  routes: z.array(routeSchema).min(1),
  limits: z.strictObject({
    promptCharacters: z.int().positive().default(2_000),
    durationSeconds: z.strictObject({
      min: z.int().positive(),
      max: z.int().positive(),
      default: z.int().positive(),
    }),
  }),
  price: z.strictObject({ creditsPerSecond: z.int().positive() }),
  outputs: z
    .strictObject({
      count: z.int().positive().default(1),
      mediaTypes: z.array(z.string()).min(1).default(['video/mp4']),
      maxBytes: z.int().positive().default(2_147_483_648),
    })
    .prefault({}),
  expectedDurationSeconds: z.int().positive(),
  deadlineSeconds: z.strictObject({ default: z.int().positive(), max: z.int().positive() }),
  timings: timingsSchema,
});
export type Model = z.infer<typeof modelSchema>;

export const catalogueSchema = z.strictObject({ models: z.array(modelSchema).min(1) });
export type Catalogue = z.infer<typeof catalogueSchema>;

/** The catalogue used when CATALOGUE_FILE is not set. */
export const DEFAULT_CATALOGUE: Catalogue = catalogueSchema.parse({
  models: [
    {
      id: 'infro-video',
      title: 'INFRO text to video',
      method: 'text-to-video',
      routes: [{ provider: 'infro', providerModel: 'm-video' }],
      limits: { durationSeconds: { min: 1, max: 15, default: 5 } },
      price: { creditsPerSecond: 20 },
      expectedDurationSeconds: 60,
      deadlineSeconds: { default: 900, max: 3_600 },
    },
    {
      id: 'infro-video-polled',
      title: 'INFRO text to video, without callbacks',
      method: 'text-to-video',
      routes: [{ provider: 'infro', providerModel: 'm-video', callbacks: false }],
      limits: { durationSeconds: { min: 1, max: 15, default: 5 } },
      price: { creditsPerSecond: 20 },
      expectedDurationSeconds: 60,
      deadlineSeconds: { default: 900, max: 3_600 },
    },
  ],
});
