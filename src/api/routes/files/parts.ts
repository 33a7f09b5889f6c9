import { z } from 'zod';
import { ETAG } from '../../headers.ts';
import { Problem, type ProblemCode } from '../../problems.ts';
import type { Operation } from '../../route.ts';

export const FILE_PROBLEMS: readonly ProblemCode[] = [
  'link_invalid',
  'link_expired',
  'file_not_found',
  'precondition_failed',
  'invalid_range',
  'malformed_url',
  'not_found',
  'busy',
  'storage_unavailable',
  'database_unavailable',
];

/** For what is over soon. */
export const RETRY = { headers: { 'Retry-After': '5' } };

export function fileNotFound(): Problem {
  return new Problem('file_not_found', 'The file was deleted and is gone for good.');
}

export function storageUnavailable(cause: unknown): Problem {
  return new Problem('storage_unavailable', 'Send the same request again; the file is kept.', {
    ...RETRY,
    cause,
  });
}

const query = z.object({
  expires: z.string().meta({ description: 'Until when the link works, in seconds since 1970.' }),
  key: z.string().meta({ description: 'Id of the key that signed it.' }),
  signature: z.string().meta({ description: 'Of path and time.' }),
});
const header = z.object({
  Range: z
    .string()
    .optional()
    .meta({ description: 'One range of bytes; of several the whole file is sent.', example: 'bytes=0-1023' }),
  'If-Range': z.string().optional().meta({ description: 'ETag of the part that you have.' }),
  'If-None-Match': z.string().optional().meta({ description: 'ETag of the file that you have.' }),
  'If-Match': z.string().optional().meta({ description: 'ETag that the file must have.' }),
});

const bytes = { '*/*': { schema: { type: 'string' as const, format: 'binary', description: 'The bytes.' } } };
const text = (description: string) => ({ description, schema: { type: 'string' as const } });

/** The document of a route that serves a file to whoever has its link. */
export function describeFile(
  operationId: string,
  summary: string,
  path: Record<string, z.ZodType>,
): Operation {
  return {
    operationId,
    summary,
    description:
      'For whoever has the signed link, until its time or until the file is deleted; take links from the generation, never ' +
      'build them. HEAD works as well. Media are shown inline, anything else is saved.',
    tags: ['Files'],
    requestParams: { path: z.object(path), query, header },
    responses: {
      '200': {
        description: 'The whole file.',
        headers: { ETag: ETAG, 'Content-Disposition': text('With a file name made from the id.') },
        content: bytes,
      },
      '206': {
        description: 'The range that was asked for.',
        headers: { ETag: ETAG, 'Content-Range': text('Which bytes of how many.') },
        content: bytes,
      },
      '302': {
        description: 'Where the operator lets the storage answer itself: its own link, for at most an hour.',
        headers: { Location: text('The link.') },
      },
      '304': { description: 'You have this file already.', headers: { ETag: ETAG } },
    },
  };
}
