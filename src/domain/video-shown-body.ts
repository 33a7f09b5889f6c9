import { z } from 'zod';
import type { Catalogue, Model } from './catalogue.ts';
import { minDeadlineSeconds } from './generation-request.ts';
import { INPUT_ID } from './ids.ts';
import { inputSchema } from './input-schema.ts';
import { PUBLIC_URL_PATTERN } from './text-schema.ts';
import { sizesOf } from './video-sizes.ts';
import { videoModels } from './video-request.ts';

/** More values than this are told by their bounds. */
const MAX_LISTED = 100;

const DATA_URL_PATTERN =
  '^data:image/[a-z]{3,4};base64,(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$';

const referenceShown = z
  .union([
    z.strictObject({
      image_url: z.union([
        z.string().meta({
          description: 'An https URL that can be fetched without a login.',
          pattern: `^${PUBLIC_URL_PATTERN}$`,
          maxLength: 2_048,
          example: 'https://example.com/boat.png',
        }),
        z.string().meta({
          description:
            'A data URL in base64; all text of a body ends at 1 MiB, so send larger images as a file.',
          pattern: DATA_URL_PATTERN,
          example: 'data:image/png;base64,iVBORw0KGgo=',
        }),
      ]),
    }),
    z.strictObject({
      file_id: z.string().meta({
        description: 'Id of an upload (`POST /v1/inputs`).',
        pattern: INPUT_ID.source,
        example: 'inp_06f1m4k2h8v7x9q3w5y1z0a2b4',
      }),
    }),
  ])
  .meta({ description: 'The image to begin with.' });

function secondsShown(spec: NonNullable<Model['input']['duration_seconds']>) {
  const { min, max } =
    'values' in spec ? { min: Math.min(...spec.values), max: Math.max(...spec.values) } : spec;
  const range = Array.from({ length: Math.min(max - min + 1, MAX_LISTED) }, (_, i) => min + i);
  const values = 'values' in spec ? spec.values : range;
  const number = z.int().min(min).max(max);
  return z
    .union([z.enum(values.map(String)), 'values' in spec ? number.meta({ enum: [...values] }) : number])
    .meta({
      description: `Length in seconds, as text or number; ${spec.default} without it.`,
      example: String(spec.default),
    });
}

/** The body as the API document shows it for one model. */
function shownFor(model: Model, withFile: boolean) {
  const { input } = model;
  const { prompt } = inputSchema(model).shape;
  const sizes = [...sizesOf(input).keys()];
  const file = z.string().meta({
    description: 'The image to begin with, as a file; its kind is told by its bytes.',
    format: 'binary',
  });
  const image = withFile
    ? z.union([file, referenceShown]).meta({ description: 'The image to begin with.' })
    : referenceShown;
  return z.strictObject({
    model: z.literal(model.id).meta({ description: 'Id of the model.' }),
    ...(prompt === undefined ? {} : { prompt }),
    ...(input.duration_seconds === undefined
      ? {}
      : { seconds: secondsShown(input.duration_seconds).optional() }),
    ...(sizes.length === 0
      ? {}
      : {
          size: z
            .enum(sizes)
            .optional()
            .meta({ description: 'Width and height in pixels.', example: sizes[0] }),
        }),
    ...(input.image_url === undefined
      ? {}
      : { input_reference: input.image_url.required ? image : image.optional() }),
  });
}

/** The body as the API document shows it: one shape per model that makes videos. @param withFile = as a form */
export function shownVideoBody(catalogue: Catalogue, withFile: boolean) {
  const [first, ...others] = videoModels(catalogue).map((model) => shownFor(model, withFile));
  return first === undefined ? z.strictObject({}) : z.discriminatedUnion('model', [first, ...others]);
}

/**
 * The deadlines in seconds that some video model takes, for the document, whose header knows no model; null without one.
 */
export function shownDeadlines(catalogue: Catalogue): { readonly min: number; readonly max: number } | null {
  const models = videoModels(catalogue);
  if (models.length === 0) return null;
  return {
    min: Math.min(...models.map(minDeadlineSeconds)),
    max: Math.max(...models.map(({ deadlineSeconds }) => deadlineSeconds.max)),
  };
}
