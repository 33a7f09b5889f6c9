import { z } from 'zod';
import { STAGES, STATES } from './generation.ts';

function time(description: string) {
  return z.iso.datetime({ precision: 3 }).meta({ description, example: '2026-11-29T12:00:00.000Z' });
}
const text = (description: string) => z.string().meta({ description });
const count = (description: string) => z.int().min(0).meta({ description });

const temporalUrl = z.string().nullable().meta({
  description: 'Its run in the Temporal UI; null when `TEMPORAL_UI_URL` is not set.',
});

/** What every operators' answer about a generation has of it. */
const head = {
  id: z.string().meta({ description: 'Of the generation.', example: 'gen_06f1m4k2h8v7x9q3w5y1z0a2b4' }),
  temporal_url: temporalUrl,
  tenant: text('Id of its tenant.'),
  account: text('The credit account that pays.'),
  model: text('Id of the model.'),
  provider: text('Where it was submitted last, or will be.'),
  state: z.enum(STATES).meta({ description: 'As its tenant sees it.' }),
  stage: z.enum(STAGES).meta({ description: 'Where its run is.' }),
  created_at: time('When it was asked for.'),
  deadline_at: time('When it ends unless a provider has succeeded.'),
  due_at: time('When its run must next have written; null when it has ended.').nullable(),
  overdue_seconds: count('For how long it should have written; 0 = it is in time.'),
};

/** One line of the operators' list; never the tenant's content. */
export const listedGenerationSchema = z
  .object({
    object: z.literal('listed_generation').meta({ description: 'Always `listed_generation`.' }),
    ...head,
    credits: count('The price, held or settled.'),
    reason: text('Why it ended without outputs, or why it needs an operator.').nullable(),
  })
  .meta({ id: 'ListedGeneration' });
export type ListedGeneration = z.infer<typeof listedGenerationSchema>;

const submissionSchema = z
  .object({
    id: text('Of the submission.'),
    ordinal: z.int().min(1).meta({ description: 'Its place among the tries, from 1.' }),
    provider: text('Where it went.'),
    credential: text('Name of the API key that was used.'),
    state: text('`prepared`, `sending`, `unknown`, `accepted`, `refused` or `abandoned`.'),
    idempotency_key: text('As the provider got it.'),
    first_sent_at: time('When the first byte may have left; null when it was not sent.').nullable(),
    unknown_at: time('Since when it is not known whether there is a job.').nullable(),
    accepted_at: time('When the job was known.').nullable(),
    lease_until: time('Until when an attempt may be sending.').nullable(),
    job_id: text('Of the provider.').nullable(),
    provider_status: text('The last that the provider said.').nullable(),
    problem: text('The last trouble, as a fixed code.').nullable(),
    refusal_code: text('Why it was refused.').nullable(),
    observed_at: time('When it was looked at last.').nullable(),
    observations: count('How often it was looked at.'),
    terminal_hint_at: time('When a callback told an end.').nullable(),
    cancel_sent_at: time('When the provider was asked to cancel.').nullable(),
    ended_at: time('When the job was known to have ended.').nullable(),
    ended_as: text('How the job ended.').nullable(),
    late_look_at: time('When it is looked at next after the end.').nullable(),
    late_success_at: time('When its job succeeded after the generation had gone on without it.').nullable(),
    cost: z
      .object({
        amount: z.string().meta({ description: 'Decimal number.', example: '0.25' }),
        unit: text('Of the amount.'),
        final: z.boolean().meta({ description: 'False = an estimate.' }),
        source: text('Who said so.'),
        at: time('When it was booked.'),
      })
      .nullable()
      .meta({ description: 'What the provider bills; null when nobody has said.' }),
    orphan_jobs: z
      .array(z.object({ job_id: text('Of the provider.'), reported_at: time('When it was reported.') }))
      .meta({ description: 'Further jobs that the provider reported for it.' }),
    callbacks: count('Callbacks that came for it, also those not kept.'),
  })
  .meta({ id: 'OperatedSubmission' });
export type OperatedSubmission = z.infer<typeof submissionSchema>;

const outputSchema = z.object({
  index: count('Its place, from 0.'),
  state: text('`storing`, `stored`, `lost`, `invalid`, `deleting` or `deleted`.'),
  attempts: count('How often it was tried.'),
  problem: text('The last trouble, as a fixed code.').nullable(),
  path: text('Below `STORAGE_URL`.').nullable(),
  bytes: count('Size of the file.').nullable(),
  sha256: text('Lower-case hex.').nullable(),
  media_type: text('Recognised from the bytes.').nullable(),
  duration_seconds: z.number().nullable().meta({ description: 'As rendered.' }),
  priced_seconds: z.number().nullable().meta({ description: 'As charged.' }),
  lease_until: time('Until when an attempt may be downloading.').nullable(),
  stored_at: time('When it was stored.').nullable(),
  expires_at: time('When it is deleted.').nullable(),
});

/** A callback of a provider without its body. */
export const callbackSchema = z
  .object({
    object: z.literal('callback').meta({ description: 'Always `callback`.' }),
    id: z.string().meta({ description: 'Of the callback.', example: 'cbk_12' }),
    provider: text('Who sent it.'),
    credential: text('Under which of our API keys.'),
    submission: text(
      'The submission; null = unmatched, it names a job that we do not know (yet).',
    ).nullable(),
    generation: text('The generation of that submission.').nullable(),
    temporal_url: temporalUrl,
    job_id: text('The job that it names.').nullable(),
    type: text('As the provider calls it.'),
    terminal: z.boolean().meta({ description: 'Whether it tells an end.' }),
    progress: z.number().nullable().meta({ description: 'From 0 to 1.' }),
    bytes: count('Size of its body.'),
    received_at: time('When it came.'),
    seen_at: time('When the run took it; null = not yet.').nullable(),
  })
  .meta({ id: 'Callback' });
export type CallbackView = z.infer<typeof callbackSchema>;

const webhookSchema = z.object({
  id: text('Of the delivery.'),
  type: text('What it tells.'),
  endpoint: text('The endpoint; null for the `callback_url`.').nullable(),
  receiver: text('Origin of the address; the rest of it is the tenant’s.').nullable(),
  state: text('`pending`, `delivered`, `failed`, `held` or `cancelled`.'),
  attempts: count('How often it was tried.'),
  next_attempt_at: time('When it is tried next.').nullable(),
  last_status: z.int().nullable().meta({ description: 'HTTP status of the last answer.' }),
  last_problem: text('Why the last attempt failed, as a fixed code.').nullable(),
  delivered_at: time('When it was taken first.').nullable(),
});

/** All that the rows tell of one generation, for operators. */
export const shownGenerationSchema = z
  .object({
    object: z.literal('operated_generation').meta({ description: 'Always `operated_generation`.' }),
    ...head,
    next: z
      .object({
        what: text('In words.'),
        command: text('The command to type; null when there is none.').nullable(),
      })
      .meta({ description: 'What to do now.' }),
    progress: z.number().nullable().meta({ description: 'From 0 to 1.' }),
    error_code: text('Why it ended without outputs.').nullable(),
    operator_reason: text('Why it waits for a person.').nullable(),
    delivery: text('Of its outputs: `pending`, `stored`, `partial`, `failed` or `expired`.'),
    credits: z
      .object({
        state: text('`held`, `captured` or `released`.'),
        amount: count('Held at first.'),
        captured: count('Charged.'),
        refunded: count('Given back later.'),
      })
      .meta({ description: 'Its hold.' }),
    cancellation: z
      .object({ outcome: text('What became of it.'), requested_by: text('Who asked.') })
      .nullable()
      .meta({ description: 'The wish to cancel.' }),
    paused: z
      .object({ kind: text('`provider`, `model` or `tenant`.'), target: text('Which.') })
      .nullable()
      .meta({ description: 'What an operator has stopped that it would need.' }),
    provider_closed: z
      .enum(['circuit_open', 'daily_budget'])
      .nullable()
      .meta({ description: 'Why its provider takes no submits just now.' }),
    started_at: time('When a provider had it, or may have had it, first.').nullable(),
    success_at: time('When the provider’s success was seen.').nullable(),
    store_until: time('Until when its outputs are tried.').nullable(),
    wake_requested_at: time('Since when its run is asked to look.').nullable(),
    completed_at: time('When it ended.').nullable(),
    erased_at: time('When its content was erased.').nullable(),
    submissions: z.array(submissionSchema).meta({ description: 'Every try, the first one first.' }),
    callbacks: z.array(callbackSchema).meta({ description: 'The last 50, newest first, without bodies.' }),
    outputs: z.array(outputSchema).meta({ description: 'By index.' }),
    webhooks: z.array(webhookSchema).meta({ description: 'The last 50 deliveries, newest first.' }),
    operator_actions: z
      .array(
        z.object({
          kind: text('What was done.'),
          actor: text('By whom.'),
          reason: text('Why.'),
          detail: z.record(z.string(), z.unknown()).meta({ description: 'What else there is to it.' }),
          at: time('When.'),
        }),
      )
      .meta({ description: 'The last 100, newest first.' }),
    events: z
      .array(
        z.object({
          seq: z.int().meta({ description: 'Its number, from 1.' }),
          type: text('`state`, `stage`, `progress`, `terminal` and so on.'),
          data: z.record(z.string(), z.unknown()).meta({ description: 'What changed.' }),
          at: time('When.'),
        }),
      )
      .meta({ description: 'The last 100, newest first.' }),
  })
  .meta({ id: 'OperatedGeneration' });
export type ShownGeneration = z.infer<typeof shownGenerationSchema>;
