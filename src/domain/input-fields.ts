import { z } from 'zod';
import type { JsonObject } from './json.ts';
import {
  INPUT_MEDIA_TYPES,
  MAX_IMAGE_SIDE,
  MAX_INPUT_BYTES,
  MIN_IMAGE_SIDE,
  type MediaLimits,
} from './media-limits.ts';

/** What a model makes of what. */
export const METHODS = ['text-to-video', 'image-to-video', 'text-to-image', 'text-to-speech'] as const;
export type Method = (typeof METHODS)[number];

/** Text with at most this many characters (Unicode code points). */
const text = z.strictObject({
  maxCharacters: z.int().min(1).max(100_000).default(2_000),
  required: z.boolean().default(true),
});
const optionalText = text.extend({ required: z.boolean().default(false) });
/**
 * A file: an https URL, which is fetched once when the generation is created, or the id of an upload. What it may be is
 * checked by its bytes; sides are pixels, of images only.
 */
const url = z.strictObject({
  required: z.boolean().default(true),
  mediaTypes: z.array(z.enum(INPUT_MEDIA_TYPES)).min(1).default(['image/png', 'image/jpeg', 'image/webp']),
  maxBytes: z
    .int()
    .min(1)
    .max(MAX_INPUT_BYTES)
    .default(20 * 1024 * 1024),
  minSide: z.int().min(1).max(MAX_IMAGE_SIDE).default(MIN_IMAGE_SIDE),
  maxSide: z.int().min(1).max(MAX_IMAGE_SIDE).default(MAX_IMAGE_SIDE),
});
/** A whole number from min to max, or one of the values. */
const integer = z.union(
  [
    z.strictObject({ min: z.int().min(0), max: z.int().min(0), default: z.int().min(0) }),
    z.strictObject({ values: z.array(z.int().min(0)).min(1).max(50), default: z.int().min(0) }),
  ],
  'needs min, max and default, or values and default',
);
const choice = z.strictObject({
  values: z
    .array(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.:+-]{0,63}$/))
    .min(1)
    .max(100),
  default: z.string(),
});
const flag = z.strictObject({ default: z.boolean() });
/** Present = the tenant may choose it; without it the provider chooses. */
const seed = z.strictObject({ max: z.int().min(1).max(4_294_967_295).default(2_147_483_647) });

/** Every input field there is, under the one name it has for all providers; a model takes the ones it lists. */
const fields = {
  prompt: text,
  negative_prompt: optionalText,
  /** What is spoken, for text-to-speech. */
  text,
  image_url: url,
  duration_seconds: integer,
  resolution: choice,
  aspect_ratio: choice,
  mode: choice,
  voice: choice,
  audio: flag,
  upscale: flag,
  /** How many outputs; only where one provider job returns several. */
  count: z.strictObject({ max: z.int().min(2).max(16), default: z.int().min(1) }),
  seed,
};
export type InputField = keyof typeof fields;
export const INPUT_FIELDS = Object.keys(fields) as readonly InputField[];

/** The input of one model: which fields it takes, and their limits and defaults. */
export const inputSpecSchema = z
  .strictObject(fields)
  .partial()
  .refine((spec) => Object.keys(spec).length > 0, 'names at least one field');
export type InputSpec = z.infer<typeof inputSpecSchema>;

/** The fields whose value names a file. */
const FILE_FIELDS = ['image_url'] as const satisfies readonly InputField[];

/** A file that an input names, and what it may be. */
export interface NamedFile {
  readonly field: InputField;
  /** An https URL, or the id of an upload. */
  readonly value: string;
  readonly limits: MediaLimits;
}

/** The files that an input of this model names. */
export function namedFiles(spec: InputSpec, input: JsonObject): NamedFile[] {
  return FILE_FIELDS.flatMap((field) => {
    const limits = spec[field];
    const value = input[field];
    return limits === undefined || typeof value !== 'string' ? [] : [{ field, value, limits }];
  });
}

/** Whether an input names a file under any field that can: most name none, and need no look for it. */
export function namesFiles(input: JsonObject): boolean {
  return FILE_FIELDS.some((field) => input[field] !== undefined);
}

/** The field that each method cannot be without. */
export const MAIN_FIELD: Readonly<Record<Method, InputField>> = {
  'text-to-video': 'prompt',
  'image-to-video': 'image_url',
  'text-to-image': 'prompt',
  'text-to-speech': 'text',
};
