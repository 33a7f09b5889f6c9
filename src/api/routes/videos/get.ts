import { videoSchema, viewVideo } from '../../../domain/video-view.ts';
import { getVideo } from '../../../services/read-video.ts';
import { POLL_AFTER_MS, RETRY_AFTER } from '../../headers.ts';
import { json, type TenantRoute } from '../../route.ts';
import { generationParams } from '../generations/parts.ts';
import { pollHeaders, videoNotFound } from './parts.ts';

export const getVideoRoute: TenantRoute = {
  method: 'get',
  path: '/v1/videos/{id}',
  auth: 'generations',
  errorShape: 'video',
  problems: ['video_not_found', 'malformed_url'],
  describe: () => ({
    operationId: 'getVideo',
    summary: 'Read a video',
    description:
      'A generation of a video model, however it was created, in the shape of the OpenAI Videos API. `GET /v1/generations/{id}` has more: ' +
      'credits, metadata, a link to the file, `Prefer: wait`.',
    tags: ['Videos'],
    requestParams: { path: generationParams },
    responses: {
      '200': {
        description: 'The video.',
        headers: { 'Retry-After': RETRY_AFTER, 'OpenAI-Poll-After-Ms': POLL_AFTER_MS },
        content: { 'application/json': { schema: videoSchema } },
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const generation = await getVideo(ctx, { tenantId: call.tenantId, id: call.params['id']! });
    if (generation === null) throw videoNotFound();
    return json(200, viewVideo(generation), pollHeaders(generation));
  },
};
