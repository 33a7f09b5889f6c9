import { z } from 'zod';
import type { Catalogue, Model } from './catalogue.ts';
import { dataUrlBytes } from './data-url.ts';
import type { JsonObject } from './json.ts';
import { sizesOf } from './video-sizes.ts';
import { isVideoMethod } from './video-view.ts';

/** What is read of a body before its model is known; the model's own limits come after. */
const reference = z.union(
  [z.strictObject({ image_url: z.string() }), z.strictObject({ file_id: z.string() })],
  'Send a file, {"image_url": "https://…"} or {"file_id": "inp_…"} (an upload of POST /v1/inputs).',
);
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

/** The image to begin with: a file that came along and is stored, bytes inside the text, or a name of it. */
export type VideoReference =
  | { readonly kind: 'stored'; readonly inputId: string; readonly sha256: string }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'named'; readonly name: string };

export type StoredReference = Extract<VideoReference, { readonly kind: 'stored' }>;

interface FieldProblem {
  /** JSON pointer into the body. */
  readonly path: string;
  readonly message: string;
}

export type VideoWish =
  | {
      readonly outcome: 'ok';
      /** Of a body of `POST /v1/generations`; without the image. */
      readonly model: string;
      readonly input: JsonObject;
      readonly reference: VideoReference | null;
    }
  | { readonly outcome: 'unknown_model'; readonly message: string }
  | { readonly outcome: 'invalid'; readonly errors: readonly FieldProblem[] };

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

/**
 * What is asked for, in the words of a generation: fields are renamed, a size becomes what it stands for in this model.
 * Texts and numbers are checked by the model's own schema later. @param file = what came as the file `input_reference`
 */
export function readVideoWish(
  catalogue: Catalogue,
  body: VideoBody,
  file: StoredReference | null,
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
  const named = file ?? namedReference(body.input_reference);
  if (file !== null && body.input_reference !== undefined) {
    errors.push({ path: '/input_reference', message: 'Send it once: as a file, or by its name.' });
  } else if (named === null && model.input.image_url?.required === true) {
    errors.push({ path: '/input_reference', message: `${model.id} needs an image. ${choice(models)}` });
  } else if (named !== null && model.input.image_url === undefined) {
    errors.push({ path: '/input_reference', message: `${model.id} takes no image. ${choice(models)}` });
  } else if (named?.kind === 'named' && /^data:/i.test(named.name)) {
    errors.push({ path: '/input_reference', message: DATA_URL });
  }
  if (errors.length > 0) return { outcome: 'invalid', errors };
  const input = {
    ...(prompt === undefined ? {} : { prompt }),
    ...(seconds === undefined ? {} : { duration_seconds: Number(seconds) }),
    ...chosen,
  };
  return { outcome: 'ok', model: model.id, input, reference: named };
}

function sizeAdvice(sizes: readonly string[]): string {
  return sizes.length === 0
    ? 'This model has no size to choose: leave it out.'
    : `Use one of ${sizes.join(', ')}.`;
}

function namedReference(given: VideoBody['input_reference']): VideoReference | null {
  if (given === undefined) return null;
  const name = 'file_id' in given ? given.file_id : given.image_url;
  const bytes = dataUrlBytes(name);
  return bytes === null ? { kind: 'named', name } : { kind: 'bytes', bytes };
}

/** What makes a request equal to another: all that was asked, a file by its bytes, however the body spelled it. */
export function canonicalVideoRequest(
  wish: Extract<VideoWish, { readonly outcome: 'ok' }>,
  image: { readonly sha256: string } | { readonly name: string } | null,
  context: { readonly account: string; readonly deadlineSeconds: number | null },
): JsonObject {
  return { model: wish.model, input: wish.input, image, ...context };
}
