import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Catalogue, Model } from './catalogue.ts';
import { dataUrlBytes } from './data-url.ts';
import { INPUT_ID } from './ids.ts';
import type { JsonObject } from './json.ts';
import { sizesOf } from './video-sizes.ts';
import { isVideoMethod } from './video-view.ts';

/** What is read of a body before its model is known; the model's own limits come after. */
const reference = z.union(
  [z.strictObject({ image_url: z.string() }), z.strictObject({ file_id: z.string() })],
  'Send a file, {"image_url": "https://…"} or {"file_id": "inp_…"} (an upload of POST /v1/inputs).',
);
const SENT_TWICE = 'Send it once: as a file, or by its name.';
const NO_UPLOAD = 'Send the id of an upload (POST /v1/inputs) as file_id, a URL as image_url.';
const DATA_URL = 'Send a data URL with whole base64 (data:image/png;base64,…), or the file itself in a form.';
const SECONDS = 'Send the length in whole seconds, like "8".';
export const videoBodySchema = z.strictObject({
  model: z.string().optional(),
  prompt: z.string().optional(),
  seconds: z.union([z.string().regex(/^\d{1,6}$/, SECONDS), z.int().min(0).max(999_999)], SECONDS).optional(),
  size: z.string().optional(),
  input_reference: reference.optional(),
});
export type VideoBody = z.infer<typeof videoBodySchema>;

/** The image to begin with: a file that came along and is stored, bytes inside the text, or a name of it; SHA-256 in hex. */
export type VideoReference =
  | { readonly kind: 'stored'; readonly inputId: string; readonly sha256: string }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array; readonly sha256: string }
  | { readonly kind: 'named'; readonly name: string };

export type StoredReference = Extract<VideoReference, { readonly kind: 'stored' }>;

interface FieldProblem {
  /** JSON pointer into the body. */
  readonly path: string;
  readonly message: string;
}

interface Invalid {
  readonly outcome: 'invalid';
  readonly errors: readonly FieldProblem[];
}

export type VideoWish =
  | {
      readonly outcome: 'ok';
      /** Of a body of `POST /v1/generations`; without the image. */
      readonly model: string;
      readonly input: JsonObject;
    }
  | { readonly outcome: 'unknown_model'; readonly message: string }
  | Invalid;

/** The models that make videos, in the catalogue's order. */
export function videoModels({ models }: Catalogue): readonly Model[] {
  return models.filter(({ method }) => isVideoMethod(method));
}

function listed(models: readonly Model[]): string {
  return models.length === 0 ? 'none' : models.map(({ id }) => id).join(', ');
}

/** What there is to choose from, in one sentence. */
function choice(models: readonly Model[]): string {
  const fromText = models.filter(({ input }) => input.image_url?.required !== true);
  const fromImage = models.filter(({ input }) => input.image_url !== undefined);
  return `Models without input_reference: ${listed(fromText)}; with it: ${listed(fromImage)}.`;
}

/** The image of a request, whatever its model takes; null = none. @param file = what came as the file `input_reference` */
export function readReference(
  { input_reference: given }: VideoBody,
  file: StoredReference | null,
): Invalid | { readonly outcome: 'ok'; readonly reference: VideoReference | null } {
  const invalid = (message: string): Invalid => ({
    outcome: 'invalid',
    errors: [{ path: '/input_reference', message }],
  });
  if (given === undefined) return { outcome: 'ok', reference: file };
  if (file !== null) return invalid(SENT_TWICE);
  const [name, isUpload] = 'file_id' in given ? [given.file_id, true] : [given.image_url, false];
  if (INPUT_ID.test(name) !== isUpload) return invalid(NO_UPLOAD);
  const bytes = dataUrlBytes(name);
  if (bytes !== null) {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    return { outcome: 'ok', reference: { kind: 'bytes', bytes, sha256 } };
  }
  return /^data:/i.test(name) ? invalid(DATA_URL) : { outcome: 'ok', reference: { kind: 'named', name } };
}

/**
 * What is asked for, in the words of a generation: fields are renamed, a size becomes what it stands for in this model.
 * Texts and numbers are checked by the model's own schema later.
 */
export function readVideoWish(
  catalogue: Catalogue,
  body: VideoBody,
  reference: VideoReference | null,
): VideoWish {
  const models = videoModels(catalogue);
  const model = models.find(({ id }) => id === body.model);
  if (model === undefined) {
    const what = body.model === undefined ? 'Name a model.' : 'No model of this name makes videos here.';
    return { outcome: 'unknown_model', message: `${what} ${choice(models)}` };
  }
  const errors: FieldProblem[] = [];
  const { prompt, seconds, size } = body;
  if (seconds !== undefined && model.input.duration_seconds === undefined) {
    errors.push({ path: '/seconds', message: 'This model has no length to choose: leave it out.' });
  }
  const sizes = sizesOf(model.input);
  const chosen = size === undefined ? {} : sizes.get(size);
  if (chosen === undefined) errors.push({ path: '/size', message: sizeAdvice([...sizes.keys()]) });
  if (reference === null && model.input.image_url?.required === true) {
    errors.push({ path: '/input_reference', message: `${model.id} needs an image. ${choice(models)}` });
  } else if (reference !== null && model.input.image_url === undefined) {
    errors.push({ path: '/input_reference', message: `${model.id} takes no image. ${choice(models)}` });
  }
  if (errors.length > 0) return { outcome: 'invalid', errors };
  const input = {
    ...(prompt === undefined ? {} : { prompt }),
    ...(seconds === undefined ? {} : { duration_seconds: Number(seconds) }),
    ...chosen,
  };
  return { outcome: 'ok', model: model.id, input };
}

function sizeAdvice(sizes: readonly string[]): string {
  return sizes.length === 0
    ? 'This model has no size to choose: leave it out.'
    : `Use one of ${sizes.join(', ')}.`;
}

/**
 * What makes a request equal to another: all that was sent, a file by its bytes, however the body spelled it. Nothing of
 * what it means in a catalogue, so that a repeat is the same request after the catalogue has changed.
 */
export function canonicalVideoRequest(
  { model, prompt, seconds, size }: VideoBody,
  reference: VideoReference | null,
  context: { readonly account: string; readonly deadlineSeconds: number | null },
): JsonObject {
  return {
    model: model ?? null,
    prompt: prompt ?? null,
    seconds: seconds === undefined ? null : Number(seconds),
    size: size ?? null,
    image: reference === null ? null : canonicalImage(reference),
    ...context,
  };
}

function canonicalImage(reference: VideoReference): JsonObject {
  return reference.kind === 'named' ? { name: reference.name } : { sha256: reference.sha256 };
}
