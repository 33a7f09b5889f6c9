import { z } from 'zod';
import { operate } from '../../../services/operate.ts';
import { refundGeneration } from '../../../services/refund-generation.ts';
import { Problem } from '../../problems.ts';
import { json, type OperatorRoute } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { parseBody, reasonText } from '../../validation.ts';
import { generationParams } from '../generations/parts.ts';
import { dryRun, noSuchGeneration, temporalUrl } from './parts.ts';

const credits = z.int().min(1);
const slug = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_.-]{0,63}$/, 'Use 1 to 64 of a-z 0-9 _ . - and begin with a letter or digit.')
  .meta({
    description: 'What it is refunded for; one refund of a generation for each. The tenant sees it.',
    example: 'bad-output',
  });

const bodySchema = z.strictObject({
  reason: slug,
  credits: credits.optional().meta({ description: 'How many; without it all that is left.', example: 50 }),
  note: reasonText
    .optional()
    .meta({ description: 'More words, for operators only.', example: 'ticket 4711' }),
  dry_run: dryRun,
});

const refundSchema = z
  .object({
    object: z.literal('refund').meta({ description: 'Always `refund`.' }),
    generation: z.string().meta({ description: 'Id of the generation.' }),
    credits: credits.meta({ description: 'What this refund gave back.' }),
    refunded_credits: credits.meta({
      description: 'What all refunds of the generation have given back by now.',
    }),
    reason: slug,
    dry_run: z.boolean().meta({ description: 'True = nothing was changed.' }),
    temporal_url: temporalUrl,
  })
  .meta({ id: 'Refund' });
const content = { 'application/json': { schema: refundSchema } };

/** Gives captured credits back. The reason is its key: repeating the call changes nothing. */
export const refundGenerationRoute: OperatorRoute = {
  method: 'post',
  path: '/admin/v1/generations/{id}/refunds',
  auth: 'operator',
  problems: [
    ...JSON_PROBLEMS,
    'invalid_request',
    'generation_not_found',
    'not_captured',
    'refund_reason_used',
    'refund_too_large',
    'malformed_url',
  ],
  describe: () => ({
    operationId: 'refundGeneration',
    summary: 'Refund a generation',
    description:
      'Gives captured credits back to the account, all or a part, together never more than was captured. `reason` makes it safe to ' +
      'send again: the same reason refunds once.',
    tags: ['Operators'],
    requestParams: { path: generationParams },
    requestBody: {
      required: true,
      content: {
        'application/json': { schema: bodySchema, example: { reason: 'bad-output', note: 'ticket 4711' } },
      },
    },
    responses: {
      '201': { description: 'Refunded.', content },
      '200': {
        description: 'Refunded before, for this reason, or a dry run; nothing changed.',
        content,
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const body = parseBody(bodySchema, await readJsonObject(call.request));
    const { reason } = body;
    const id = call.params['id']!;
    const dry = body.dry_run ?? false;
    const refund = await operate(ctx, dry, (operator) =>
      refundGeneration(operator, {
        id,
        credits: body.credits ?? null,
        reason,
        note: body.note ?? null,
        actor: call.actor,
      }),
    );
    switch (refund.outcome) {
      case 'refunded':
      case 'duplicate':
        return json(refund.outcome === 'refunded' && !dry ? 201 : 200, {
          object: 'refund',
          generation: id,
          credits: refund.credits,
          refunded_credits: refund.refunded,
          reason,
          dry_run: dry,
          temporal_url: ctx.runUrl(id),
        });
      case 'reason_used':
        throw new Problem(
          'refund_reason_used',
          'This reason has refunded "credits" credits: use another reason for a further refund.',
          { extensions: { credits: refund.credits } },
        );
      case 'too_much':
        throw new Problem(
          'refund_too_large',
          refund.refundable === 0
            ? 'All that was captured is refunded already.'
            : 'Refund at most "refundable" credits, or leave credits out.',
          { extensions: { refundable: refund.refundable } },
        );
      case 'not_captured':
        throw new Problem(
          'not_captured',
          'Nothing was charged, so there is nothing to refund; one that still runs can be cancelled or resolved.',
        );
      case 'not_found':
        throw noSuchGeneration();
    }
  },
};
