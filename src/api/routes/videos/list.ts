import { z } from 'zod';
import { GENERATION_ID } from '../../../domain/ids.ts';
import { videoSchema } from '../../../domain/video-view.ts';
import { listVideos } from '../../../services/list-videos.ts';
import { linksTo } from '../../links.ts';
import { pageQuery } from '../../paging.ts';
import { json, type TenantRoute } from '../../route.ts';
import { parseQuery } from '../../validation.ts';
import { videoNotFound } from './parts.ts';

const DEFAULT_LIMIT = 20;

const querySchema = z.strictObject({
  limit: pageQuery(GENERATION_ID).limit,
  after: z
    .string()
    .regex(GENERATION_ID, 'Use the id of a video: last_id of the page before.')
    .optional()
    .meta({ description: '`last_id` of the page before.', example: 'gen_06f1m4k2h8v7x9q3w5y1z0a2b4' }),
  order: z
    .enum(['asc', 'desc'])
    .optional()
    .meta({ description: 'By time of creation: `desc` = newest first, which is the default.' }),
});

const pageSchema = z
  .object({
    object: z.literal('list').meta({ description: 'Always `list`.' }),
    data: z.array(videoSchema).meta({ description: 'The videos, in the order asked for.' }),
    first_id: z.string().nullable().meta({ description: 'Id of the first one; null when there is none.' }),
    last_id: z
      .string()
      .nullable()
      .meta({ description: 'Send it as `after` to get the next page; null on an empty last page.' }),
    has_more: z.boolean().meta({ description: 'Whether there is another page.' }),
  })
  .meta({ id: 'VideoList' });

export const listVideosRoute: TenantRoute = {
  method: 'get',
  path: '/v1/videos',
  auth: 'generations',
  errorShape: 'video',
  problems: ['invalid_query', 'video_not_found'],
  describe: () => ({
    operationId: 'listVideos',
    summary: 'List videos',
    description:
      'Generations of video models, however they were created, without deleted ones. Pages stay stable while new ones come in. ' +
      'Among very many deleted ones a page may be short; behind 50,000 in a row it is empty while `has_more`, and its `last_id`, then ' +
      'of a deleted one, leads on. Official clients stop at such a page: begin at the other end with `order`.',
    tags: ['Videos'],
    requestParams: { query: querySchema },
    responses: {
      '200': {
        description: 'One page.',
        content: { 'application/json': { schema: pageSchema } },
        links: linksTo({ getVideo: 'id', downloadVideo: 'id' }, '$response.body#/data/0/id'),
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const { limit, after, order = 'desc' } = parseQuery(querySchema, call.query);
    const page = await listVideos(ctx, {
      tenantId: call.tenantId,
      order,
      after,
      limit: limit === undefined ? DEFAULT_LIMIT : Number(limit),
    });
    if (page === null) throw videoNotFound('/after');
    const { data, first_id, last_id, has_more } = page;
    return json(200, { object: 'list', data, first_id, last_id, has_more });
  },
};
