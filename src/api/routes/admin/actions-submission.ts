import { z } from 'zod';
import { anyText } from '../../../domain/text-schema.ts';
import { attachJob } from '../../../services/attach-job.ts';
import { declareNotAccepted } from '../../../services/declare-not-accepted.ts';
import { actionFields, actionRoute } from './actions-parts.ts';

const submission = anyText(64).optional().meta({
  description: 'Id of the submission; the last one that was sent when left out.',
  example: 'sub_06f1m4k2h8v7x9q3w5y1z0a2b4_1',
});

/** The job of a submission whose answer was lost, named by a person. */
export const attachJobRoute = actionRoute({
  action: 'attach-job',
  operationId: 'attachJob',
  summary: 'Attach a provider’s job by hand',
  description:
    'For a submission whose answer was lost (stage `submission_unknown`). The provider is asked for the job; when it is there, the ' +
    'generation goes on with it, else nothing changes and the submission’s `problem` tells so. After the end, or for a submission ' +
    'that was declared not accepted, the job is attached late: asked once to stop, its cost booked, nothing changed for the tenant.',
  body: z.strictObject({
    ...actionFields,
    submission,
    job_id: z
      .string()
      .regex(/^(?!\.{1,2}$)[\x21-\x7e]{1,255}$/, 'Write 1 to 255 visible ASCII characters.')
      .meta({ description: 'As the provider’s console shows it.', example: 'job_83f1' }),
  }),
  example: { reason: 'seen in the console', job_id: 'job_83f1' },
  act: (ctx, input, body) =>
    attachJob(ctx, { ...input, submission: body.submission ?? null, jobId: body.job_id }),
});

const again = { description: 'Submit it again instead of ending it.' };
const sure = { description: 'True with `resubmit`: you have seen at the provider that there is no job.' };

/** An unknown submission that a person knows to have no job. */
export const notAcceptedRoute = actionRoute({
  action: 'not-accepted',
  operationId: 'declareNotAccepted',
  summary: 'Declare a submission not accepted',
  description:
    'For a submission whose answer was lost and of which you have seen at the provider that it has no job. The generation ends as ' +
    '`failed` with `provider_unavailable` (as `cancelled` if a cancel was asked), released. With `resubmit` it is submitted again ' +
    'instead, under a new key: if you are wrong, a second job is paid for, so that needs `confirm`.',
  body: z
    .strictObject({
      ...actionFields,
      submission,
      resubmit: z.boolean().optional().meta(again),
      confirm: z.boolean().optional().meta(sure),
    })
    .refine(({ resubmit, confirm, dry_run: dry }) => resubmit !== true || confirm === true || dry === true, {
      path: ['confirm'],
      message:
        'Look into the provider’s console first: if there is a job, a second one is paid for. Then send true.',
    }),
  shown: z.union([
    z.strictObject({
      ...actionFields,
      submission,
      resubmit: z.literal(false).optional().meta(again),
      confirm: z.boolean().optional().meta(sure),
    }),
    z.strictObject({
      ...actionFields,
      submission,
      resubmit: z.literal(true).meta(again),
      confirm: z.literal(true).meta(sure),
    }),
    z.strictObject({
      ...actionFields,
      dry_run: z.literal(true).meta({ description: 'Only tell what would come of it.' }),
      submission,
      resubmit: z.literal(true).meta(again),
      confirm: z.boolean().optional().meta(sure),
    }),
  ]),
  example: { reason: 'not in the console', resubmit: true, confirm: true },
  act: (ctx, input, body) =>
    declareNotAccepted(ctx, {
      ...input,
      submission: body.submission ?? null,
      resubmit: body.resubmit ?? false,
    }),
});
