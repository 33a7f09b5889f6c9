import { z } from 'zod';
import { jobId } from './job-id.ts';

/** A generation as `GET /v1/generations/{id}` returns it. Only `id` and `state` are sure; the rest is read if usable. */
export const lumaGeneration = z.object({
  id: jobId,
  state: z.string().min(1),
  output: z
    .array(z.object({ url: z.unknown() }).catch({ url: null }))
    .nullish()
    .catch(null),
  failure_code: z.string().nullish().catch(null),
});
export type LumaGeneration = z.infer<typeof lumaGeneration>;

/** The 201 of a submit: the generation, queued. */
export const lumaAccepted = z.object({ id: jobId, state: z.string().catch('not_given') });

/** Error envelope: a text for people, no code. A list is what its framework sends for a body that fits no schema. */
export const lumaError = z.object({ detail: z.union([z.string(), z.array(z.unknown())]) });

/** A 404 about a generation. "Not Found" is what its framework says of a path that it does not know: nothing about a job. */
export const lumaNoSuchGeneration = z.object({ detail: z.string().refine((text) => text !== 'Not Found') });
