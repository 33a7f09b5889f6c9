import { z } from 'zod';
import { STAGES, STATES } from '../../../domain/generation.ts';
import { ACTION_EFFECTS, refusalText } from '../../../domain/operator-actions.ts';
import type { OperatorActionName } from '../../../domain/operator-actions.ts';
import { actionView } from '../../../services/act-on-generation.ts';
import type { Acted, ActionInput } from '../../../services/act-on-generation.ts';
import type { OperatorContext } from '../../../services/operate.ts';
import { Problem } from '../../problems.ts';
import { json } from '../../route.ts';
import type { OperatorRoute, Reply } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { parseBody } from '../../validation.ts';
import { generationParams } from '../generations/parts.ts';
import { dryRun, noSuchGeneration, reason, temporalUrl } from './parts.ts';

const nullableText = (description: string) => z.string().nullable().meta({ description });
const nullableCount = (description: string) => z.int().min(0).nullable().meta({ description });

const actionSchema = z
  .object({
    object: z.literal('operator_action').meta({ description: 'Always `operator_action`.' }),
    generation: z.string().meta({ description: 'Id of the generation.' }),
    action: z.string().meta({ description: 'What was asked for, as in the path.' }),
    outcome: z.enum(ACTION_EFFECTS).meta({
      description:
        'What it has brought about. `searching`: its job is not known, it is looked for where the provider can be asked. ' +
        '`attaching`: the provider is asked for the job, which is attached when it is there. `…_late`: nothing changes for the ' +
        'tenant. `requested`: the provider is asked to cancel, its answer decides.',
    }),
    dry_run: z.boolean().meta({ description: 'True = nothing was changed.' }),
    state: z.enum(STATES).meta({ description: 'How it stands after it.' }),
    stage: z.enum(STAGES).meta({ description: 'How it stands after it.' }),
    submission: nullableText('The submission that it was about.'),
    job_id: nullableText('The job that it was about.'),
    count: nullableCount('Jobs looked at, outputs tried again, webhooks sent again.'),
    skipped: nullableCount('Webhooks left out: their endpoint is disabled or deleted.'),
    store_until: nullableText('Until when outputs are tried now.'),
    temporal_url: temporalUrl,
  })
  .meta({ id: 'OperatorAction' });

/** The body of every action; each adds what it needs. */
export const actionFields = { reason, dry_run: dryRun };
export const actionBody = z.strictObject(actionFields);

interface ActionRoute<Body extends { reason: string; dry_run?: boolean | undefined }> {
  readonly action: OperatorActionName;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly body: z.ZodType<Body>;
  /** The body for the document, where one schema can't tell all that is checked. */
  readonly shown?: z.ZodType;
  readonly example: object;
  readonly act: (ctx: OperatorContext, input: ActionInput, body: Body) => Promise<Acted>;
}

/** A route of one action: `POST /admin/v1/generations/{id}/{action}`, with a reason, as a dry run if wished. */
export function actionRoute<Body extends { reason: string; dry_run?: boolean | undefined }>({
  action,
  operationId,
  summary,
  description,
  body: schema,
  shown = schema,
  example,
  act,
}: ActionRoute<Body>): OperatorRoute {
  return {
    method: 'post',
    path: `/admin/v1/generations/{id}/${action}`,
    auth: 'operator',
    problems: [
      ...JSON_PROBLEMS,
      'invalid_request',
      'generation_not_found',
      'already_terminal',
      'action_not_possible',
      'malformed_url',
    ],
    describe: () => ({
      operationId,
      summary,
      description,
      tags: ['Operators'],
      requestParams: { path: generationParams },
      requestBody: { required: true, content: { 'application/json': { schema: shown, example } } },
      responses: {
        '200': { description: 'Done.', content: { 'application/json': { schema: actionSchema } } },
      },
    }),
    handle: (ctx) => async (call) => {
      const body = parseBody(schema, await readJsonObject(call.request));
      const id = call.params['id']!;
      const dryRun = body.dry_run ?? false;
      const input = { id, actor: call.actor, reason: body.reason, dryRun };
      return reply(action, await act(ctx, input, body), { dryRun, temporalUrl: ctx.runUrl(id) });
    },
  };
}

/** @throws Problem 404 or 409 for what was not done. */
function reply(
  action: OperatorActionName,
  acted: Acted,
  more: { readonly dryRun: boolean; readonly temporalUrl: string | null },
): Reply {
  switch (acted.outcome) {
    case 'done':
      return json(200, actionView(action, acted, more));
    case 'not_found':
      throw noSuchGeneration();
    case 'refused': {
      const { why, state } = acted;
      const text = refusalText(action, acted);
      throw why === 'already_terminal'
        ? new Problem('already_terminal', text, { extensions: { state } })
        : new Problem('action_not_possible', text, { extensions: { why, state } });
    }
  }
}
