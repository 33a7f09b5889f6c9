import { z } from 'zod';
import { jobId } from './job-id.ts';

const MODEL = '[A-Za-z0-9][A-Za-z0-9._-]{0,99}';
const OPERATION = new RegExp(`^models/(${MODEL})/operations/([A-Za-z0-9][A-Za-z0-9._-]{0,127})$`);

/** The name of a model in a path. */
export const VEO_MODEL = new RegExp(`^${MODEL}$`);

/** The path of an operation's name (`models/<model>/operations/<id>`) below the version; null for any other text. */
export function operationPath(name: string): string | null {
  const [, model, id] = OPERATION.exec(name) ?? [];
  if (model === undefined || id === undefined) return null;
  return `models/${encodeURIComponent(model)}/operations/${encodeURIComponent(id)}`;
}

/** The answer to a submit: an operation, which may even be done. */
export const veoAccepted = z.object({ name: z.string().refine((name) => operationPath(name) !== null) });

/** google.rpc.Status inside an operation: `code` is the number of google.rpc.Code. */
const rpcStatus = z.object({
  code: z.number().nullish().catch(null),
  message: z.string().nullish().catch(null),
});

/** How many were filtered; int32 in JSON, a string is allowed by proto3. */
const count = z.coerce.number().int().nonnegative().nullish().catch(null);

const sample = z.object({
  video: z.object({
    uri: z.string().nullish().catch(null),
    encodedVideo: z.string().nullish().catch(null),
    encoding: z.string().nullish().catch(null),
  }),
});

/** An operation as `GET /v1beta/{name}` shows it (types of @google/genai 2.18.0); `done` is left out while it is false. */
export const veoOperation = z.object({
  name: z.string(),
  done: z.unknown().optional(),
  error: rpcStatus.nullish().catch({}),
  response: z
    .object({
      generateVideoResponse: z
        .object({
          generatedSamples: z.array(sample.nullable().catch(null)).nullish().catch(null),
          raiMediaFilteredCount: count,
          raiMediaFilteredReasons: z.array(z.unknown()).nullish().catch(null),
        })
        .nullish()
        .catch(null),
    })
    .nullish()
    .catch(null),
});
export type VeoOperation = z.infer<typeof veoOperation>;

/** Google's error envelope; `details` hold typed messages: ErrorInfo, RetryInfo. */
export const veoError = z.object({
  error: z.object({
    code: z.number(),
    message: z.string().catch(''),
    status: z.string().nullish().catch(null),
    details: z
      .array(
        z
          .object({
            '@type': z.string(),
            reason: z.string().optional().catch(undefined),
            retryDelay: z.string().optional().catch(undefined),
          })
          .nullable()
          .catch(null),
      )
      .catch([])
      .default([]),
  }),
});

/** An event; only `type` and `data.id` are read. */
export const veoEvent = z.object({ type: z.string().min(1).max(255), data: z.object({ id: jobId }) });
