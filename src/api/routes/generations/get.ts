import { z } from 'zod';
import { generationSchema, type GenerationView } from '../../../domain/generation-view.ts';
import { entityTag, matchesEntityTag } from '../../../domain/http/entity-tag.ts';
import { preferredWaitSeconds } from '../../../domain/http/prefer.ts';
import { awaitGeneration } from '../../../services/await-generation.ts';
import { getGeneration } from '../../../services/get-generation.ts';
import { ETAG, PREFERENCE_APPLIED, RETRY_AFTER, WATCH_TOKEN } from '../../headers.ts';
import type { ApiContext, Reply, TenantCall, TenantRoute } from '../../route.ts';
import { watchTokenHeader } from '../../watch.ts';
import { generationNotFound, generationParams, retryAfter } from './parts.ts';

export const getGenerationRoute: TenantRoute = {
  method: 'get',
  path: '/v1/generations/{id}',
  auth: 'generations',
  watch: true,
  problems: ['generation_not_found', 'malformed_url'],
  describe: () => ({
    operationId: 'getGeneration',
    summary: 'Read a generation',
    description:
      'With `Prefer: wait=N` the answer is held back up to N seconds, until the generation changes (compared with If-None-Match ' +
      'when sent). When too many callers wait already, the answer comes at once, without Preference-Applied.',
    tags: ['Generations'],
    requestParams: {
      path: generationParams,
      header: z.object({
        'If-None-Match': z.string().optional().meta({ description: 'ETag of the state that you have.' }),
        Prefer: z
          .string()
          .optional()
          .meta({ description: '`wait=N`, N from 1 to 60 seconds.', example: 'wait=30' }),
      }),
    },
    responses: {
      '200': {
        description: 'The generation.',
        headers: {
          ETag: ETAG,
          'Retry-After': RETRY_AFTER,
          'Preference-Applied': PREFERENCE_APPLIED,
          'Watch-Token': WATCH_TOKEN,
        },
        content: { 'application/json': { schema: generationSchema } },
      },
      '304': { description: 'Nothing changed since the ETag in If-None-Match.', headers: { ETag: ETAG } },
    },
  }),
  handle: (ctx) => (call) => readGeneration(ctx, call),
};

async function readGeneration(ctx: ApiContext, call: TenantCall): Promise<Reply> {
  const { tenantId, request } = call;
  const id = call.params['id']!;
  const known = request.headers['if-none-match'];
  const waitSeconds = preferredWaitSeconds(request.headersDistinct['prefer']?.join(','));
  if (waitSeconds === 0) {
    const view = await getGeneration(ctx, { tenantId, id });
    if (view === null) throw generationNotFound();
    return replyWith(known, view, watchTokenHeader(ctx, call, view));
  }
  const waited = await awaitGeneration(ctx, {
    tenantId,
    id,
    waitMs: waitSeconds * 1_000,
    isKnown: (view) => known === undefined || matchesEntityTag(known, entityTag(JSON.stringify(view))),
    waiters: ctx.waiters,
    signal: call.signal,
    draining: ctx.draining,
  });
  if (waited === null) throw generationNotFound();
  return replyWith(known, waited.view, {
    ...watchTokenHeader(ctx, call, waited.view),
    ...(waited.honoured ? { 'Preference-Applied': `wait=${waitSeconds}` } : {}),
  });
}

function replyWith(known: string | undefined, view: GenerationView, headers: Record<string, string>): Reply {
  const body = JSON.stringify(view);
  const tag = entityTag(body);
  const shared = { ...headers, ...retryAfter(view), ETag: tag, 'Cache-Control': 'private, no-cache' };
  if (matchesEntityTag(known, tag)) return { status: 304, headers: shared };
  return { status: 200, headers: shared, contentType: 'application/json', body };
}
