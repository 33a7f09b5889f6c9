import { z } from 'zod';
import type { Catalogue, Model } from './catalogue.ts';
import { inputSchema } from './input-schema.ts';
import { anyText, PUBLIC_URL_PATTERN } from './text-schema.ts';

/** An account is a balance inside a tenant, usually one of its own users. */
export const accountSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:@|-]{0,127}$/,
    'Use 1 to 128 letters, digits or . _ : @ | - and begin with a letter or digit.',
  )
  .meta({
    description: 'The credit account that pays; the tenant’s own name for one of its users.',
    example: 'default',
  });

export const metadataSchema = z
  .record(
    // The three names are those that the JSON reader never takes.
    z
      .string()
      .regex(
        /^(?!(?:__proto__|constructor|prototype)$)[A-Za-z0-9_.-]{1,64}$/,
        'Use 1 to 64 letters, digits or _ . - as a key.',
      ),
    anyText(500),
  )
  .refine((metadata) => Object.keys(metadata).length <= 50, 'Use at most 50 keys.')
  .meta({
    description: 'Your own labels: at most 50 keys, text values of at most 500 characters.',
    maxProperties: 50,
    example: { order: 'A-1' },
  });

/** The shortest deadline in seconds: with less than the expected duration left nothing is submitted any more. */
export function minDeadlineSeconds({
  expectedDurationSeconds,
}: Pick<Model, 'expectedDurationSeconds'>): number {
  return expectedDurationSeconds + 1;
}

/** The body of `POST /v1/generations` for one model of the catalogue. */
export function requestSchema(model: Model) {
  return z.strictObject({
    model: z.literal(model.id).meta({ description: 'Id of the model.' }),
    input: inputSchema(model).meta({ description: 'What to make; the fields differ from model to model.' }),
    account: accountSchema.default('default'),
    provider: z
      .enum([...new Set(model.routes.map(({ provider }) => provider))])
      .optional()
      .meta({
        description: 'Only this provider; without it the first that can take the job.',
      }),
    deadline_seconds: z
      .int()
      .min(
        minDeadlineSeconds(model),
        `Use at least ${minDeadlineSeconds(model)}: a job of this model takes ${model.expectedDurationSeconds} seconds.`,
      )
      .max(model.deadlineSeconds.max)
      .default(model.deadlineSeconds.default)
      .meta({
        description: 'Seconds after which an unfinished generation expires and its credits are released.',
      }),
    max_credits: z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional().meta({
      description: 'The most that you will pay: a higher price answers 409 `price_changed`, nothing is held.',
    }),
    callback_url: z
      .string()
      .min(1)
      .max(2_048)
      .optional()
      .meta({
        description:
          'Where the end of this generation is announced, beside your webhook endpoints: an https URL of a public host without user ' +
          'name, password or port. Signed with the default secret of your tenant (`POST /v1/webhook-secret/rotate` makes it).',
        example: 'https://example.com/darkroom',
        override: { pattern: `^${PUBLIC_URL_PATTERN}$` },
      }),
    metadata: metadataSchema.default({}),
  });
}
export type GenerationRequest = z.infer<ReturnType<typeof requestSchema>>;

/** The body as the API document shows it: one shape per model. */
export function anyRequestSchema(catalogue: Catalogue) {
  const [first, ...others] = catalogue.models.map(requestSchema);
  return z.discriminatedUnion('model', [first!, ...others]);
}
