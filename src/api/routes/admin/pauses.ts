import { z } from 'zod';
import type { Catalogue } from '../../../domain/catalogue.ts';
import { TENANT_ID } from '../../../domain/ids.ts';
import { listPauses, PAUSE_KINDS, type Pause } from '../../../services/list-pauses.ts';
import { operate } from '../../../services/operate.ts';
import { pauseTarget, resumeTarget, type UnknownTarget } from '../../../services/pause-target.ts';
import { json, type ApiContext, type OperatorCall, type OperatorRoute } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { invalidRequest, parseBody } from '../../validation.ts';
import { noSuchTenant, reason } from './parts.ts';

const kind = z.enum(PAUSE_KINDS).meta({ description: 'What is stopped.', example: 'provider' });
const whichTarget = {
  description: 'Name of the provider, id of the model or of the tenant.',
  example: 'infro',
};
const target = z.string().min(1).max(200).meta(whichTarget);

const bodySchema = z.strictObject({
  kind,
  target,
  reason,
  dry_run: z.boolean().default(false).meta({ description: 'Only tell what would happen.' }),
});
type Body = z.infer<typeof bodySchema>;

/** The same in a shape for each kind, which tells its names; whether they exist is checked by the service. */
function shownBody({ models }: Catalogue) {
  const providers = new Set(models.flatMap(({ routes }) => routes.map(({ provider }) => provider)));
  const { reason: why, dry_run: dry } = bodySchema.shape;
  const named = (of: (typeof PAUSE_KINDS)[number], what: z.ZodType) =>
    z.strictObject({
      kind: z.literal(of).meta({ description: 'What is stopped.' }),
      target: what.meta({ description: whichTarget.description }),
      reason: why,
      dry_run: dry,
    });
  return z.discriminatedUnion('kind', [
    named('provider', z.enum([...providers])),
    named('model', z.enum(models.map(({ id }) => id))),
    named('tenant', z.string().regex(TENANT_ID)),
  ]);
}

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
  if (body.kind === 'tenant') return noSuchTenant();
  const message = `There is no such ${body.kind}: use one of ${known.join(', ')}.`;
  return invalidRequest([{ path: '/target', message }]);
}

async function readChange(call: OperatorCall) {
  const body = parseBody(bodySchema, await readJsonObject(call.request));
  const change = { kind: body.kind, target: body.target, reason: body.reason, actor: call.actor };
  return { body, change };
}

function requestBody(catalogue: Catalogue) {
  const target = catalogue.models[0]!.routes[0]!.provider;
  return {
    required: true,
    content: {
      'application/json': {
        schema: shownBody(catalogue),
        example: { kind: 'provider', target, reason: 'ticket 4711' },
      },
    },
  };
}

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
  problems: [...JSON_PROBLEMS, 'invalid_request', 'tenant_not_found'],
  describe: (catalogue) => ({
    operationId: 'pause',
    summary: 'Pause a provider, model or tenant',
    description:
      'Nothing new is submitted there from this answer on. What a provider has already is looked at, stored, settled and cancelled as ever. ' +
      'A paused provider: models with another one go on there, others wait. A paused model or tenant: new generations are refused ' +
      '(503 `model_paused`, 403 `tenant_paused`), those not yet sent wait. Who waits stays `queued` and can be cancelled, up to its deadline.',
    tags: ['Operators'],
    requestBody: requestBody(catalogue),
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
  problems: [...JSON_PROBLEMS, 'invalid_request', 'tenant_not_found'],
  describe: (catalogue) => ({
    operationId: 'resume',
    summary: 'Resume a provider, model or tenant',
    description: 'Takes a pause back. Generations that wait for it go on within seconds.',
    tags: ['Operators'],
    requestBody: requestBody(catalogue),
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
