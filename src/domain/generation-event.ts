import { z } from 'zod';
import { GENERATION_ERRORS, type GenerationErrorCode } from './errors.ts';
import {
  CANCELLATION_OUTCOMES,
  DELIVERIES,
  STAGES,
  STATES,
  type CancellationOutcome,
  type Delivery,
  type Stage,
  type State,
} from './generation.ts';
import { generationSchema } from './generation-view.ts';
import type { JsonObject } from './json.ts';

const errorCodes = Object.keys(GENERATION_ERRORS) as [GenerationErrorCode, ...GenerationErrorCode[]];
const { state, stage, progress, delivery, error } = generationSchema.shape;

/** `data:` of one event of `GET /v1/generations/{id}/events`. */
export const generationEventSchema = z
  .object({
    generation: z.string().meta({ description: 'Id of the generation.' }),
    at: z.iso
      .datetime({ precision: 3 })
      .meta({ description: 'When it happened.', example: '2026-11-29T12:00:00.000Z' }),
    state: state.optional(),
    stage: stage.optional(),
    progress: progress.optional(),
    delivery: delivery.optional(),
    error: error.optional(),
    credits: z
      .object({
        captured: z.int().min(0).meta({ description: 'Charged for what was stored.' }),
        released: z.int().min(0).meta({ description: 'Given back because it was not needed.' }),
      })
      .optional()
      .meta({ description: 'What it cost, in whole credits.' }),
    outcome: z
      .enum(CANCELLATION_OUTCOMES)
      .nullable()
      .optional()
      .meta({ description: '`cancellation.outcome` of the generation.' }),
  })
  .meta({
    id: 'GenerationEvent',
    description:
      'What `data:` of an event holds. `created` and `stage` tell state and stage; `progress` tells progress; `cancellation` tells outcome; ' +
      '`terminal` tells state, stage, delivery, error and credits; `snapshot` tells state, stage, progress, delivery, error and outcome.',
  });
export type GenerationEventView = z.infer<typeof generationEventSchema>;

/** What the database keeps of an event; anything else in it is not shown. */
const storedSchema = z.object({
  state: z.enum(STATES).optional(),
  stage: z.enum(STAGES).optional(),
  progress: z.number().optional(),
  delivery: z.enum(DELIVERIES).optional(),
  errorCode: z.enum(errorCodes).nullable().optional(),
  captured: z.number().optional(),
  released: z.number().optional(),
  outcome: z.enum(CANCELLATION_OUTCOMES).optional(),
});

/** An event as its followers see it; what it does not tell is left out. */
export function viewEvent(
  generation: string,
  event: { readonly data: JsonObject; readonly createdAt: Date },
): GenerationEventView {
  const { errorCode, captured, released, ...told } = storedSchema.parse(event.data);
  return {
    generation,
    at: event.createdAt.toISOString(),
    ...told,
    ...(errorCode === undefined ? {} : { error: errorOf(errorCode) }),
    ...(captured === undefined || released === undefined ? {} : { credits: { captured, released } }),
  };
}

/** Where a generation stands, for whoever can't be told how it came there. The words hold by CHECK constraints. */
export function viewSnapshot(
  generation: string,
  row: {
    readonly updatedAt: Date;
    readonly state: string;
    readonly stage: string;
    readonly progress: number | null;
    readonly delivery: string;
    readonly errorCode: string | null;
    readonly cancelOutcome: string | null;
  },
): GenerationEventView {
  return {
    generation,
    at: row.updatedAt.toISOString(),
    state: row.state as State,
    stage: row.stage as Stage,
    progress: row.progress,
    delivery: row.delivery as Delivery,
    error: errorOf(row.errorCode as GenerationErrorCode | null),
    outcome: row.cancelOutcome as CancellationOutcome | null,
  };
}

function errorOf(code: GenerationErrorCode | null): GenerationEventView['error'] {
  if (code === null) return null;
  const { message, retryable } = GENERATION_ERRORS[code];
  return { code, message, retryable };
}
