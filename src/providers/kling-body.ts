import type { InputField, Method } from '../domain/input-fields.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../domain/json.ts';
import type { SubmitJob, SubmitRequest } from '../domain/provider.ts';

/** What Kling 3.0 takes. It has no negative prompt (it belongs into the prompt), no seed, no mode: resolution is the quality. */
export const KLING_METHODS = {
  'text-to-video': ['prompt', 'duration_seconds', 'resolution', 'aspect_ratio', 'audio'],
  'image-to-video': ['image_url', 'prompt', 'duration_seconds', 'resolution', 'audio'],
} as const satisfies Partial<Record<Method, readonly InputField[]>>;

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Adds `more` to `base`, objects member by member; @throws when both set the same value. */
function merged(base: JsonObject, more: JsonObject): JsonObject {
  const body: Record<string, JsonValue> = { ...base };
  for (const [name, value] of Object.entries(more)) {
    const own = base[name];
    if (own === undefined) body[name] = value;
    else if (isObject(own) && isObject(value)) body[name] = merged(own, value);
    else throw new Error(`kling: the catalogue route's params may not set "${name}": the adapter sets it`);
  }
  return body;
}

function withoutUndefined(members: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
}

function settingsOf(input: JsonObject): JsonObject {
  const { audio } = input;
  return withoutUndefined({
    duration: input['duration_seconds'],
    resolution: input['resolution'],
    aspect_ratio: input['aspect_ratio'],
    audio: audio === undefined ? undefined : audio === true ? 'native' : 'off',
  });
}

/** The prompt is a member of its own for text to video, one of the contents beside the first frame else. */
function sourceOf(method: 'text-to-video' | 'image-to-video', input: JsonObject): JsonObject {
  const { prompt, image_url: imageUrl } = input;
  if (method === 'text-to-video') return withoutUndefined({ prompt });
  return {
    contents: [
      ...(prompt === undefined ? [] : [{ type: 'prompt', text: prompt }]),
      ...(imageUrl === undefined ? [] : [{ type: 'first_frame', url: imageUrl }]),
    ],
  };
}

/**
 * `POST /text-to-video/{model}` or `/image-to-video/{model}`; our idempotency key is Kling's `external_task_id`.
 * @throws on a method, field, model or key that Kling 3.0 can't take, and on params that the adapter sets itself
 */
export function buildKlingSubmit(job: SubmitJob): SubmitRequest {
  const { method, providerModel, input, params, callbackUrl, idempotencyKey } = job;
  if (method !== 'text-to-video' && method !== 'image-to-video') {
    throw new Error(`kling does not offer the method "${method}"`);
  }
  const fields: readonly string[] = KLING_METHODS[method];
  const foreign = Object.keys(input).find((name) => !fields.includes(name));
  if (foreign !== undefined) throw new Error(`kling takes no field "${foreign}" for ${method}`);
  if (!/^[a-z0-9][a-z0-9.-]{0,63}$/.test(providerModel)) {
    throw new Error('kling names its models as part of a path, for example kling-3.0');
  }
  if (!isKlingExternalId(idempotencyKey)) {
    throw new Error('Kling takes an external task id of 1 to 128 letters, digits or . _ : -');
  }
  const settings = settingsOf(input);
  const own = {
    ...sourceOf(method, input),
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    options: withoutUndefined({
      external_task_id: idempotencyKey,
      callback_url: callbackUrl ?? undefined,
    }),
  };
  return {
    method: 'POST',
    path: `/${method}/${providerModel}`,
    contentType: 'application/json',
    body: canonicalJson(merged(own, params)),
  };
}

/** No comma: the query by external ids takes a list. */
export function isKlingExternalId(text: string): boolean {
  return /^[A-Za-z0-9._:-]{1,128}$/.test(text);
}
