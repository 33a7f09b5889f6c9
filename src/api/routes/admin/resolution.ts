import { z } from 'zod';
import { operate } from '../../../services/operate.ts';
import { resolveGeneration } from '../../../services/resolve-generation.ts';
import { Problem } from '../../problems.ts';
import { json, type OperatorRoute } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { parseBody } from '../../validation.ts';
import { generationParams } from '../generations/parts.ts';
import { dryRun, noSuchGeneration, reason, temporalUrl } from './parts.ts';

/** What an operator may decide; the codes of outputs are decided by the rows. */
const ERROR_CODES = [
  'invalid_input',
  'content_rejected',
  'provider_unavailable',
  'provider_rejected',
  'provider_failed',
  'no_output',
] as const;
const DEFAULT_CODE = 'provider_failed';

type Resolved = Awaited<ReturnType<typeof resolveGeneration>>;
type Why = Extract<Resolved, { readonly outcome: 'not_possible' }>['why'];

const ADVICE: Readonly<Record<Why, string>> = {
  sending: 'A submit is under way: try again in a minute, when its answer is recorded or its time is over.',
  downloading: 'An output is being downloaded: try again in a minute, when it is stored or has failed.',
  outputs_stored:
    'Outputs are stored, so it can only succeed: resolve it as succeeded, then refund it if need be.',
  no_output_stored: 'No output is stored, so nothing may be charged: resolve it as failed.',
};

const whichState = {
  description:
    '`succeeded` charges for the outputs that are stored and needs one; `failed` releases all credits.',
};
const errorCode = z
  .enum(ERROR_CODES)
  .optional()
  .meta({
    description:
      'What the tenant is told, for `failed` only; `provider_failed` when left out. If the provider has already succeeded it is ' +
      '`output_lost` or `output_invalid` instead, by what became of its outputs.',
  });

const bodySchema = z
  .strictObject({
    state: z.enum(['failed', 'succeeded']).meta(whichState),
    error_code: errorCode,
    reason,
    dry_run: dryRun,
  })
  .refine(({ state, error_code: code }) => state === 'failed' || code === undefined, {
    path: ['error_code'],
    message: 'Only for the state "failed": leave it out.',
  });

/** The same in two shapes, which tell what the check above does; checked by it as one, for clear messages. */
const shownBody = z.discriminatedUnion('state', [
  z.strictObject({
    state: z.literal('failed').meta(whichState),
    error_code: errorCode,
    reason,
    dry_run: dryRun,
  }),
  z.strictObject({ state: z.literal('succeeded').meta(whichState), reason, dry_run: dryRun }),
]);

const resolutionSchema = z
  .object({
    object: z.literal('resolution').meta({ description: 'Always `resolution`.' }),
    generation: z.string().meta({ description: 'Id of the generation.' }),
    state: z.string().meta({ description: 'How it has ended.' }),
    error_code: z
      .string()
      .nullable()
      .meta({ description: 'What the tenant is told; null when it succeeded.' }),
    captured_credits: z
      .int()
      .min(0)
      .meta({ description: 'Charged for what is stored; the rest is released.' }),
    reason,
    dry_run: z.boolean().meta({ description: 'True = nothing was changed.' }),
    temporal_url: temporalUrl,
  })
  .meta({ id: 'Resolution' });

/** The end of a generation by hand. */
export const resolveGenerationRoute: OperatorRoute = {
  method: 'post',
  path: '/admin/v1/generations/{id}/resolution',
  auth: 'operator',
  problems: [
    ...JSON_PROBLEMS,
    'invalid_request',
    'generation_not_found',
    'already_terminal',
    'resolution_not_possible',
    'malformed_url',
  ],
  describe: () => ({
    operationId: 'resolveGeneration',
    summary: 'End a generation by hand',
    description:
      'For one that only a person can end, as in stage `needs_operator`. It is final, and only what the stored outputs allow: nobody ' +
      'can charge for what is not there. A charge is taken back by a refund.',
    tags: ['Operators'],
    requestParams: { path: generationParams },
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: shownBody,
          example: { state: 'failed', error_code: 'provider_unavailable', reason: 'ticket 4711' },
        },
      },
    },
    responses: {
      '200': { description: 'Ended.', content: { 'application/json': { schema: resolutionSchema } } },
    },
  }),
  handle: (ctx) => async (call) => {
    const body = parseBody(bodySchema, await readJsonObject(call.request));
    const id = call.params['id']!;
    const dry = body.dry_run ?? false;
    const resolved = await operate(ctx, dry, (operator) =>
      resolveGeneration(operator, {
        id,
        state: body.state,
        errorCode: body.state === 'failed' ? (body.error_code ?? DEFAULT_CODE) : null,
        reason: body.reason,
        actor: call.actor,
      }),
    );
    switch (resolved.outcome) {
      case 'resolved':
        return json(200, {
          object: 'resolution',
          generation: id,
          state: resolved.state,
          error_code: resolved.errorCode,
          captured_credits: resolved.captured,
          reason: body.reason,
          dry_run: dry,
          temporal_url: ctx.runUrl(id),
        });
      case 'already_terminal':
        throw new Problem(
          'already_terminal',
          'Nothing to resolve: it has ended. A charge is taken back by a refund.',
          {
            extensions: { state: resolved.state },
          },
        );
      case 'not_possible':
        throw new Problem('resolution_not_possible', ADVICE[resolved.why], {
          extensions: { why: resolved.why },
        });
      case 'not_found':
        throw noSuchGeneration();
    }
  },
};
