import { z } from 'zod';
import { GENERATION_ID } from '../../../domain/ids.ts';
import type { OpenRoute } from '../../route.ts';
import { describeFile, FILE_PROBLEMS } from './parts.ts';
import { sendFile } from './send-file.ts';

const INDEX = /^(?:0|[1-9]\d{0,2})$/;

/** What `outputs[].url` of a generation points to. */
export const outputFileRoute: OpenRoute = {
  method: 'get',
  path: '/files/outputs/{generation}/{index}',
  auth: 'link',
  problems: FILE_PROBLEMS,
  describe: () =>
    describeFile('getOutputFile', 'Download an output', {
      generation: z.string().meta({ description: 'Id of the generation.' }),
      index: z.string().meta({ description: 'Its place among the outputs, from 0.' }),
    }),
  handle: (ctx) => (call) => {
    const { generation = '', index = '' } = call.params;
    const isOurs = GENERATION_ID.test(generation) && INDEX.test(index);
    return sendFile(
      ctx,
      call,
      isOurs ? { kind: 'output', generationId: generation, index: Number(index) } : null,
    );
  },
};
