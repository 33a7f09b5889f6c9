import { z } from 'zod';
import { INPUT_ID } from '../../../domain/ids.ts';
import type { OpenRoute } from '../../route.ts';
import { describeFile, FILE_PROBLEMS } from './parts.ts';
import { sendFile } from './send-file.ts';

/** Where a stored input is read, by its tenant and by providers. */
export const inputFileRoute: OpenRoute = {
  method: 'get',
  path: '/files/inputs/{input}',
  auth: 'link',
  problems: FILE_PROBLEMS,
  describe: () =>
    describeFile('getInputFile', 'Download an input', {
      input: z.string().meta({ description: 'Id of the input.' }),
    }),
  handle: (ctx) => (call) => {
    const { input = '' } = call.params;
    return sendFile(ctx, call, INPUT_ID.test(input) ? { kind: 'input', inputId: input } : null);
  },
};
