import { z } from 'zod';
import { deleteVideo } from '../../../services/delete-video.ts';
import { json, type TenantRoute } from '../../route.ts';
import { generationParams, notTerminal } from '../generations/parts.ts';
import { videoNotFound } from './parts.ts';

const deletedSchema = z
  .object({
    id: z.string().meta({ description: 'Id of the video.', example: 'gen_06f1m4k2h8v7x9q3w5y1z0a2b4' }),
    object: z.literal('video.deleted').meta({ description: 'Always `video.deleted`.' }),
    deleted: z.literal(true).meta({ description: 'Always true.' }),
  })
  .meta({ id: 'VideoDeleted' });

export const deleteVideoRoute: TenantRoute = {
  method: 'delete',
  path: '/v1/videos/{id}',
  auth: 'generations',
  errorShape: 'video',
  problems: ['video_not_found', 'not_terminal', 'malformed_url'],
  describe: () => ({
    operationId: 'deleteVideo',
    summary: 'Delete a video',
    description:
      'For one that has ended: its file is deleted, and prompt and image are erased, for good. It is no video any more (404), ' +
      'while its generation stays readable for the books: credits, times, state. Repeating it changes nothing. Nothing is ' +
      'cancelled by it: `POST /v1/generations/{id}/cancel` does that.',
    tags: ['Videos'],
    requestParams: { path: generationParams },
    responses: {
      '200': { description: 'Deleted.', content: { 'application/json': { schema: deletedSchema } } },
    },
  }),
  handle: (ctx) => async (call) => {
    const id = call.params['id']!;
    const { outcome } = await deleteVideo(ctx, { tenantId: call.tenantId, id });
    switch (outcome) {
      case 'deleted':
        return json(200, { id, object: 'video.deleted', deleted: true });
      case 'not_terminal':
        throw notTerminal();
      case 'not_found':
        throw videoNotFound();
    }
  },
};
