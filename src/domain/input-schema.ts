import { z } from 'zod';
import type { Model } from './catalogue.ts';
import { INPUT_ID } from './ids.ts';
import { MAIN_FIELD, type InputField, type InputSpec } from './input-fields.ts';
import { limitsInWords } from './media-limits.ts';
import { PUBLIC_URL_PATTERN, writtenText } from './text-schema.ts';

const DESCRIPTIONS: Readonly<Record<InputField, string>> = {
  prompt: 'What the output shall show.',
  negative_prompt: 'What it shall not show.',
  text: 'What is spoken.',
  image_url:
    'The image to begin with: an https URL that can be fetched without a login, or the id of an upload (`POST /v1/inputs`). ' +
    'A URL is fetched once, now; what lies there later changes nothing.',
  duration_seconds: 'Length of the output in seconds.',
  resolution: 'Size of the output.',
  aspect_ratio: 'Width to height.',
  mode: 'Quality of the render.',
  voice: 'Who speaks.',
  audio: 'true = with sound.',
  upscale: 'true = enlarged after the render.',
  count: 'How many outputs; each is priced.',
  seed: 'The same seed and input give similar outputs.',
};
const PROMPT_EXAMPLE = 'A lighthouse in a storm, seen from the sea';

function textSchema(maxCharacters: number, example: string) {
  return writtenText(maxCharacters).meta({ minLength: 1, maxLength: maxCharacters, example });
}

/**
 * Whether the text can name a file at all. Which addresses may be called is the caller's to check: allow-listed ones may
 * be plain http.
 */
function namesFile(text: string): boolean {
  if (INPUT_ID.test(text)) return true;
  if (text.length > 2_048 || !URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '';
}

/** What to do about a text that can name no file. */
export const FILE_ADVICE =
  'Send an https URL of a public host without user name, password or port, at most 2048 characters, or the id of an upload (inp_…).';

/** One zod schema per field, by its limits. */
const BUILDERS: {
  readonly [Field in InputField]: (spec: NonNullable<InputSpec[Field]>) => z.ZodType;
} = {
  prompt: (spec) => optional(spec, textSchema(spec.maxCharacters, PROMPT_EXAMPLE)),
  negative_prompt: (spec) => optional(spec, textSchema(spec.maxCharacters, 'blurry')),
  text: (spec) => optional(spec, textSchema(spec.maxCharacters, 'Your table is ready.')),
  image_url: (spec) =>
    optional(
      spec,
      z
        .string()
        .refine(namesFile, FILE_ADVICE)
        .meta({
          pattern: `^(?:${INPUT_ID.source.slice(1, -1)}|${PUBLIC_URL_PATTERN})$`,
          maxLength: 2_048,
          example: 'https://example.com/boat.png',
        }),
    ),
  duration_seconds: (spec) =>
    'values' in spec
      ? z
          .int()
          .refine((value) => spec.values.includes(value), `Use one of ${spec.values.join(', ')}.`)
          .default(spec.default)
          .meta({
            enum: [...spec.values],
            minimum: Math.min(...spec.values),
            maximum: Math.max(...spec.values),
            example: spec.default,
          })
      : z.int().min(spec.min).max(spec.max).default(spec.default).meta({ example: spec.default }),
  resolution: choiceSchema,
  aspect_ratio: choiceSchema,
  mode: choiceSchema,
  voice: choiceSchema,
  audio: (spec) => z.boolean().default(spec.default),
  upscale: (spec) => z.boolean().default(spec.default),
  count: (spec) => z.int().min(1).max(spec.max).default(spec.default),
  seed: (spec) => z.int().min(0).max(spec.max).optional().meta({ example: 7 }),
};

function optional(spec: { readonly required: boolean }, schema: z.ZodType): z.ZodType {
  return spec.required ? schema : schema.optional();
}

function choiceSchema(spec: { readonly values: readonly string[]; readonly default: string }): z.ZodType {
  return z.enum(spec.values).default(spec.default);
}

/** The input that one model takes, with its defaults; unknown fields are refused. Characters are code points. */
export function inputSchema(model: Pick<Model, 'input'>) {
  const shape = Object.entries(model.input).map(([field, spec]) => {
    const build = BUILDERS[field as InputField] as (spec: unknown) => z.ZodType;
    const limits = spec !== undefined && 'mediaTypes' in spec ? ` Taken: ${limitsInWords(spec)}.` : '';
    return [field, build(spec).describe(`${DESCRIPTIONS[field as InputField]}${limits}`)] as const;
  });
  return z.strictObject(
    Object.fromEntries(shape) as Record<string, z.ZodType<string | number | boolean | undefined>>,
  );
}

/** True when the method's main field is there and required, so that no empty job can be sold. */
export function hasMainField(model: Pick<Model, 'input' | 'method'>): boolean {
  const spec = model.input[MAIN_FIELD[model.method]];
  return spec !== undefined && 'required' in spec && spec.required;
}
