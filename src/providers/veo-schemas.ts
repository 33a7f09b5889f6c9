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
  response: z.unknown().optional(),
});
export type VeoOperation = z.infer<typeof veoOperation>;

const videoResponse = z.object({
  generatedSamples: z.array(sample.nullable().catch(null)).nullish(),
  raiMediaFilteredCount: count,
  raiMediaFilteredReasons: z.array(z.unknown()).nullish().catch(null),
});
export type VeoVideoResponse = z.infer<typeof videoResponse>;

const object = z.record(z.string(), z.unknown());

/** The members of an object that are not null, but its type's name; none for null itself, null for what is no object. */
function membersOf(value: unknown): Readonly<Record<string, unknown>> | null {
  const found = object.safeParse(value ?? {}).data;
  if (found === undefined) return null;
  return Object.fromEntries(
    Object.entries(found).filter(([name, member]) => name !== '@type' && member !== null),
  );
}

/** Whether there are members, and none of these names. */
function isOther(members: object, names: readonly string[]): boolean {
  const given = Object.keys(members);
  return given.length > 0 && !given.some((name) => names.includes(name));
}

/**
 * The `generateVideoResponse` of an operation's `response`, `{}` where either is empty. Null for one in another shape
 * (Vertex AI's `videos`, the SDK's own `generatedVideos`, samples without a video): nothing is known of its videos then.
 */
export function veoVideoResponse(response: unknown): VeoVideoResponse | null {
  const outer = membersOf(response);
  if (outer === null || isOther(outer, ['generateVideoResponse'])) return null;
  const inner = membersOf(outer['generateVideoResponse']);
  if (inner === null || isOther(inner, Object.keys(videoResponse.shape))) return null;
  const found = videoResponse.safeParse(inner).data;
  const samples = found?.generatedSamples ?? [];
  const isTold = samples.some((given) => typeof (given?.video.uri ?? given?.video.encodedVideo) === 'string');
  return found === undefined || (samples.length > 0 && !isTold) ? null : found;
}

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
