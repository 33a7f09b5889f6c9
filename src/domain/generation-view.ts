import { z } from 'zod';
import { GENERATION_ERRORS, type GenerationErrorCode } from './errors.ts';
import { CANCELLATION_OUTCOMES, DELIVERIES, STAGES, STATES } from './generation.ts';
import type { JsonObject } from './json.ts';

/** A time in UTC with milliseconds, and what it is the time of. */
function time(description: string) {
  return z.iso.datetime({ precision: 3 }).meta({ description, example: '2026-11-29T12:00:00.000Z' });
}

function credits(description: string) {
  return z.int().min(0).meta({ description });
}

const errorCodes = Object.keys(GENERATION_ERRORS) as [GenerationErrorCode, ...GenerationErrorCode[]];

const outputSchema = z.object({
  index: z.int().min(0).meta({ description: 'Its place among the outputs, from 0.' }),
  url: z.string().nullable().meta({
    description:
      'Where to get the file, for whoever has this link; a fresh one comes with each answer. Null once it is deleted.',
  }),
  url_expires_at: time('Until when `url` works.').nullable(),
  expires_at: time('When the file is deleted.').nullable(),
  media_type: z.string().nullable().meta({ description: 'Recognised from the bytes.', example: 'video/mp4' }),
  bytes: z.int().min(0).nullable().meta({ description: 'Size of the file.' }),
  sha256: z.string().nullable().meta({ description: 'Of the file, lower-case hex.' }),
  width: z.int().nullable().meta({ description: 'In pixels; null where there is none.' }),
  height: z.int().nullable().meta({ description: 'In pixels; null where there is none.' }),
  duration_seconds: z.number().nullable().meta({ description: 'As rendered; null where there is none.' }),
  seed: z.int().nullable().meta({ description: 'The seed that was used; null when it is not known.' }),
});

/** What a tenant sees of a generation (design.md §6); nothing of the provider is in it. */
export const generationSchema = z
  .object({
    id: z
      .string()
      .meta({ description: 'Never changes; sorts by creation.', example: 'gen_06f1m4k2h8v7x9q3w5y1z0a2b4' }),
    object: z.literal('generation').meta({ description: 'Always `generation`.' }),
    account: z.string().meta({ description: 'The credit account that pays.' }),
    state: z.enum(STATES).meta({ description: 'Branch on this. Only forward; the last four are final.' }),
    stage: z.enum(STAGES).meta({ description: 'Where it is inside its state.' }),
    progress: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .meta({ description: 'As the provider tells it, never backwards; null when it tells none.' }),
    model: z.string().meta({ description: 'Id of the model.' }),
    provider: z
      .string()
      .nullable()
      .meta({ description: 'The provider that the request named; null when it named none.' }),
    input: z.record(z.string(), z.unknown()).meta({ description: 'As asked for, with its defaults.' }),
    metadata: z.record(z.string(), z.unknown()).meta({ description: 'Your own labels, as sent.' }),
    credits: z
      .object({
        held: credits('Set aside while it runs; 0 when it has ended.'),
        captured: credits('Charged for what was stored.'),
        released: credits('Given back at the end because it was not needed.'),
        refunded: credits('Given back later, of what was captured.'),
      })
      .meta({ description: 'What it costs, in whole credits.' }),
    delivery: z.enum(DELIVERIES).meta({
      description:
        'What became of the outputs; `partial` = some were lost, `expired` = deleted after their time.',
    }),
    cancellation: z
      .object({
        requested_by: z.string().meta({ description: '`tenant` or `operator`.' }),
        requested_at: time('When it was first asked.'),
        outcome: z.enum(CANCELLATION_OUTCOMES).meta({
          description:
            '`requested` = not decided yet, `confirmed` = stopped, `accepted_may_bill` = ended here, the render may go on, `too_late` = it ' +
            'had finished, `unsupported` = goes on.',
        }),
      })
      .nullable()
      .meta({ description: 'The wish to cancel it; null when there was none.' }),
    error: z
      .object({
        code: z.enum(errorCodes).meta({ description: 'Branch on this.' }),
        message: z.string().meta({ description: 'What happened and what to do, safe to show.' }),
        retryable: z
          .boolean()
          .meta({ description: 'Whether the same input may succeed in a new generation.' }),
      })
      .nullable()
      .meta({ description: 'Why it is `failed` or `expired`; else null.' }),
    outputs: z.array(outputSchema).meta({ description: 'The files that are stored.' }),
    created_at: time('When it was taken.'),
    updated_at: time('When anything of this changed last.'),
    started_at: time('When a provider had it first.').nullable(),
    completed_at: time('When it ended.').nullable(),
    deadline_at: time('When it expires unless it has finished.'),
    estimated_duration_seconds: z.int().positive().meta({ description: 'How long its model usually takes.' }),
    poll_url: z.string().meta({
      description: 'Path to read it again.',
      example: '/v1/generations/gen_06f1m4k2h8v7x9q3w5y1z0a2b4',
    }),
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
  /** Only when the tenant chose it. */
  readonly provider: string | null;
  readonly input: JsonObject;
  readonly metadata: JsonObject;
  readonly creditsHeld: number;
  readonly creditsCaptured: number;
  readonly creditsRefunded: number;
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
  /** To the file, signed; null once it is deleted. */
  readonly link: { readonly url: string; readonly expiresAt: string } | null;
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
    provider: facts.provider,
    input: facts.input,
    metadata: facts.metadata,
    credits: {
      held: facts.holdOpen ? facts.creditsHeld : 0,
      captured: facts.creditsCaptured,
      released: facts.holdOpen ? 0 : facts.creditsHeld - facts.creditsCaptured,
      refunded: facts.creditsRefunded,
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
    url: output.link?.url ?? null,
    url_expires_at: output.link?.expiresAt ?? null,
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
