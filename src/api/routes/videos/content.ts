import { z } from 'zod';
import { findVideoFile } from '../../../services/read-video.ts';
import { Problem } from '../../problems.ts';
import type { ApiContext, Reply, TenantCall, TenantRoute } from '../../route.ts';
import { parseQuery } from '../../validation.ts';
import { describeFile, fileNotFound } from '../files/parts.ts';
import { answerFile } from '../files/send-file.ts';
import { generationParams } from '../generations/parts.ts';
import { videoNotFound } from './parts.ts';

const querySchema = z.strictObject({
  variant: z
    .literal('video', 'Only "video" is offered: there are no thumbnails and no sprite sheets.')
    .optional()
    .meta({ description: 'Only `video`, which is the default.' }),
});

export const videoContentRoute: TenantRoute = {
  method: 'get',
  path: '/v1/videos/{id}/content',
  auth: 'generations',
  errorShape: 'video',
  problems: [
    'video_not_found',
    'output_not_found',
    'file_not_found',
    'invalid_query',
    'precondition_failed',
    'invalid_range',
    'malformed_url',
    'busy',
    'storage_unavailable',
  ],
  describe: () => {
    const { responses, requestParams } = describeFile('downloadVideo', '', {});
    const { '302': _link, ...answers } = responses;
    return {
      operationId: 'downloadVideo',
      summary: 'Download a video',
      description:
        'The file itself, for your API key, never sent on elsewhere; with `Range` and HEAD. A page needs the link in ' +
        '`outputs[].url` of the generation instead. Not finished, or failed: 404 `output_not_found`. Past its time: 404 `file_not_found`.',
      tags: ['Videos'],
      requestParams: { path: generationParams, query: querySchema, header: requestParams!.header! },
      responses: answers,
    };
  },
  handle: (ctx) => (call) => sendVideo(ctx, call),
};

async function sendVideo(ctx: ApiContext, call: TenantCall): Promise<Reply> {
  const found = await findVideoFile(ctx, { tenantId: call.tenantId, id: call.params['id']! });
  // An id of somebody else's is one answer, whatever is asked of it.
  if (found.outcome === 'not_found') throw videoNotFound();
  parseQuery(querySchema, call.query);
  switch (found.outcome) {
    case 'found':
      return answerFile(ctx, call, found, 'key');
    case 'not_finished':
      throw new Problem('output_not_found', 'It has not finished: read the video until it is completed.');
    case 'not_made':
      throw new Problem('output_not_found', 'It failed, so there is no file: `error` of the video says why.');
    case 'deleted':
      throw fileNotFound();
  }
}
