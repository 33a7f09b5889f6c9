import { z } from 'zod';
import { GENERATION_ERRORS, type GenerationErrorCode } from './errors.ts';
import { CANCELLATION_OUTCOMES, DELIVERIES, STAGES, STATES } from './generation.ts';
import type { JsonObject } from './json.ts';

const time = z.iso.datetime({ precision: 3 }).meta({ example: '2026-11-29T12:00:00.000Z' });
const credits = z.int().min(0);
const errorCodes = Object.keys(GENERATION_ERRORS) as [GenerationErrorCode, ...GenerationErrorCode[]];

const outputSchema = z.object({
  index: z.int().min(0),
  url: z.string().nullable(),
  url_expires_at: time.nullable(),
  expires_at: time.nullable(),
  media_type: z.string().nullable(),
  bytes: z.int().min(0).nullable(),
  sha256: z.string().nullable().meta({ description: 'Lower-case hex.' }),
  width: z.int().nullable(),
  height: z.int().nullable(),
  duration_seconds: z.number().nullable(),
  seed: z.int().nullable(),
});

/** What a tenant sees of a generation (design.md §6); nothing of the provider is in it. */
export const generationSchema = z
  .object({
    id: z.string().meta({ example: 'gen_06f1m4k2h8v7x9q3w5y1z0a2b4' }),
    object: z.literal('generation'),
    account: z.string(),
    state: z.enum(STATES).meta({ description: 'Branch on this. Only forward; the last four are final.' }),
    stage: z.enum(STAGES).meta({ description: 'Where it is inside its state.' }),
    progress: z.number().min(0).max(1).nullable(),
    model: z.string(),
    input: z.record(z.string(), z.unknown()),
    metadata: z.record(z.string(), z.unknown()),
    credits: z.object({ held: credits, captured: credits, released: credits, refunded: credits }),
    delivery: z.enum(DELIVERIES),
    cancellation: z
      .object({ requested_by: z.string(), requested_at: time, outcome: z.enum(CANCELLATION_OUTCOMES) })
      .nullable(),
    error: z.object({ code: z.enum(errorCodes), message: z.string(), retryable: z.boolean() }).nullable(),
    outputs: z.array(outputSchema),
    created_at: time,
    updated_at: time,
    started_at: time.nullable(),
    completed_at: time.nullable(),
    deadline_at: time,
    estimated_duration_seconds: z.int().positive(),
    poll_url: z.string().meta({ example: '/v1/generations/gen_06f1m4k2h8v7x9q3w5y1z0a2b4' }),
  })
  .meta({ id: 'Generation' });
export type GenerationView = z.infer<typeof generationSchema>;

/** The facts that a view is made of; times are ISO 8601 texts in UTC with milliseconds. */
export interface GenerationFacts {
  readonly id: string;
  readonly account: string;
  readonly state: GenerationView['state'];
  readonly stage: GenerationView['stage'];
  readonly progress: number | null;
  readonly model: string;
  readonly input: JsonObject;
  readonly metadata: JsonObject;
  readonly creditsHeld: number;
  readonly creditsCaptured: number;
  readonly holdOpen: boolean;
  readonly delivery: GenerationView['delivery'];
  readonly cancellation: GenerationView['cancellation'];
  readonly errorCode: GenerationErrorCode | null;
  readonly outputs: readonly OutputFacts[];
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly startedAt: string | null;
  readonly completedAt: string | null;
  readonly deadlineAt: string;
  readonly expectedDurationSeconds: number;
}

export interface OutputFacts {
  readonly index: number;
  readonly mediaType: string | null;
  readonly bytes: number | null;
  readonly sha256: string | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationSeconds: number | null;
  readonly expiresAt: string | null;
}

/** The path of a generation; relative, so that stored answers survive a change of the public address. */
export function generationPath(id: string): string {
  return `/v1/generations/${id}`;
}

/** Names every field by hand: what is not listed here is never shown. */
export function viewGeneration(facts: GenerationFacts): GenerationView {
  const error = facts.errorCode === null ? null : GENERATION_ERRORS[facts.errorCode];
  return {
    id: facts.id,
    object: 'generation',
    account: facts.account,
    state: facts.state,
    stage: facts.stage,
    progress: facts.progress,
    model: facts.model,
    input: facts.input,
    metadata: facts.metadata,
    credits: {
      held: facts.holdOpen ? facts.creditsHeld : 0,
      captured: facts.creditsCaptured,
      released: facts.holdOpen ? 0 : facts.creditsHeld - facts.creditsCaptured,
      refunded: 0,
    },
    delivery: facts.delivery,
    cancellation: facts.cancellation,
    error:
      error === null ? null : { code: facts.errorCode!, message: error.message, retryable: error.retryable },
    outputs: facts.outputs.map(viewOutput),
    created_at: facts.createdAt,
    updated_at: facts.updatedAt,
    started_at: facts.startedAt,
    completed_at: facts.completedAt,
    deadline_at: facts.deadlineAt,
    estimated_duration_seconds: facts.expectedDurationSeconds,
    poll_url: generationPath(facts.id),
  };
}

function viewOutput(output: OutputFacts): GenerationView['outputs'][number] {
  return {
    index: output.index,
    url: null,
    url_expires_at: null,
    expires_at: output.expiresAt,
    media_type: output.mediaType,
    bytes: output.bytes,
    sha256: output.sha256,
    width: output.width,
    height: output.height,
    duration_seconds: output.durationSeconds,
    seed: null,
  };
}
