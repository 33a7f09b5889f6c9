import { z } from 'zod';
import { listPauses, PAUSE_KINDS, type Pause } from '../../../services/list-pauses.ts';
import { operate } from '../../../services/operate.ts';
import { pauseTarget, resumeTarget, type UnknownTarget } from '../../../services/pause-target.ts';
import { json, type ApiContext, type OperatorCall, type OperatorRoute } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { invalidRequest, parseBody } from '../../validation.ts';
import { reason } from './parts.ts';

const kind = z.enum(PAUSE_KINDS).meta({ description: 'What is stopped.', example: 'provider' });
const target = z
  .string()
  .min(1)
  .max(200)
  .meta({ description: 'Name of the provider, id of the model or of the tenant.', example: 'infro' });

const bodySchema = z.strictObject({
  kind,
  target,
  reason,
  dry_run: z.boolean().default(false).meta({ description: 'Only tell what would happen.' }),
});
type Body = z.infer<typeof bodySchema>;

const pauseSchema = z
  .object({
    object: z.literal('pause').meta({ description: 'Always `pause`.' }),
    kind,
    target,
    reason: z.string().meta({ description: 'Why it was paused.' }),
    actor: z.string().meta({ description: 'Who paused it.', example: 'key:key_06f1m4k2h8v7x9q3w5y1z0a2b4' }),
    created_at: z.string().meta({ description: 'Since when.', format: 'date-time' }),
  })
  .meta({ id: 'Pause' });

const dryRun = z.boolean().meta({ description: 'True = nothing was changed.' });
const pausedSchema = z
  .object({
    outcome: z.enum(['paused', 'already_paused']).meta({
      description: '`already_paused`: nothing was changed, and the pause is the first one.',
    }),
    dry_run: dryRun,
    pause: pauseSchema,
  })
  .meta({ id: 'Paused' });
const resumedSchema = z
  .object({
    outcome: z
      .enum(['resumed', 'not_paused'])
      .meta({ description: '`not_paused`: nothing was paused under this name, and nothing was changed.' }),
    dry_run: dryRun,
    pause: pauseSchema.nullable().meta({ description: 'As it stood; null = it was not paused.' }),
    generations_due: z.int().min(0).meta({ description: 'How many that wait go on now, within seconds.' }),
  })
  .meta({ id: 'Resumed' });

function view(pause: Pause): z.infer<typeof pauseSchema> {
  const { kind: of, target: name, reason: why, actor, createdAt } = pause;
  return { object: 'pause', kind: of, target: name, reason: why, actor, created_at: createdAt.toISOString() };
}

function unknownTarget(body: Body, { known }: UnknownTarget) {
  const which =
    known.length > 0 ? `use one of ${known.join(', ')}` : '"darkroom tenant list" shows all of them';
  return invalidRequest([{ path: '/target', message: `There is no such ${body.kind}: ${which}.` }]);
}

async function readChange(call: OperatorCall) {
  const body = parseBody(bodySchema, await readJsonObject(call.request));
  const change = { kind: body.kind, target: body.target, reason: body.reason, actor: call.actor };
  return { body, change };
}

const described = {
  requestBody: {
    required: true,
    content: {
      'application/json': {
        schema: bodySchema,
        example: { kind: 'provider', target: 'infro', reason: 'ticket 4711' },
      },
    },
  },
} as const;

export const listPausesRoute: OperatorRoute = {
  method: 'get',
  path: '/admin/v1/pauses',
  auth: 'operator',
  problems: [],
  describe: () => ({
    operationId: 'listPauses',
    summary: 'List what is paused',
    description:
      'Providers, models and tenants for which nothing new is submitted, with who stopped it and why.',
    tags: ['Operators'],
    responses: {
      '200': {
        description: 'All pauses.',
        content: {
          'application/json': {
            schema: z.object({
              data: z.array(pauseSchema).meta({ description: 'Providers, models, then tenants, by name.' }),
            }),
          },
        },
      },
    },
  }),
  handle: (ctx) => async () => json(200, { data: (await listPauses(ctx)).map(view) }),
};

export const pauseRoute: OperatorRoute = {
  method: 'post',
  path: '/admin/v1/pauses',
  auth: 'operator',
  problems: [...JSON_PROBLEMS, 'invalid_request'],
  describe: () => ({
    operationId: 'pause',
    summary: 'Pause a provider, model or tenant',
    description:
      'Nothing new is submitted there from this answer on. What a provider has already is looked at, stored, settled and cancelled as ever. ' +
      'A paused provider: models with another one go on there, others wait. A paused model or tenant: new generations are refused ' +
      '(503 `model_paused`, 403 `tenant_paused`), those not yet sent wait. Who waits stays `queued` and can be cancelled, up to its deadline.',
    tags: ['Operators'],
    ...described,
    responses: {
      '200': { description: 'As it stands now.', content: { 'application/json': { schema: pausedSchema } } },
    },
  }),
  handle: (ctx: ApiContext) => async (call) => {
    const { body, change } = await readChange(call);
    const paused = await operate(ctx, body.dry_run, ({ db }) => pauseTarget({ ...ctx, db }, change));
    if (paused.outcome === 'unknown_target') throw unknownTarget(body, paused);
    return json(200, { outcome: paused.outcome, dry_run: body.dry_run, pause: view(paused.pause) });
  },
};

export const resumeRoute: OperatorRoute = {
  method: 'post',
  path: '/admin/v1/pauses/resume',
  auth: 'operator',
  problems: [...JSON_PROBLEMS, 'invalid_request'],
  describe: () => ({
    operationId: 'resume',
    summary: 'Resume a provider, model or tenant',
    description: 'Takes a pause back. Generations that wait for it go on within seconds.',
    tags: ['Operators'],
    ...described,
    responses: {
      '200': { description: 'As it stands now.', content: { 'application/json': { schema: resumedSchema } } },
    },
  }),
  handle: (ctx: ApiContext) => async (call) => {
    const { body, change } = await readChange(call);
    const resumed = await operate(ctx, body.dry_run, ({ db }) => resumeTarget({ ...ctx, db }, change));
    switch (resumed.outcome) {
      case 'unknown_target':
        throw unknownTarget(body, resumed);
      case 'not_paused':
        return json(200, { outcome: 'not_paused', dry_run: body.dry_run, pause: null, generations_due: 0 });
      case 'resumed':
        return json(200, {
          outcome: 'resumed',
          dry_run: body.dry_run,
          pause: view(resumed.pause),
          generations_due: resumed.due,
        });
    }
  },
};
