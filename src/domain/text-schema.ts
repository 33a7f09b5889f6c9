import { z } from 'zod';
import { countCharacters } from './text.ts';

const NUL = '\\u0000';
const CONTROLS = '\\u0000-\\u001f\\u007f-\\u009f';

function limited(schema: z.ZodString, maxCharacters: number) {
  return schema
    .refine((text) => countCharacters(text) <= maxCharacters, `Use at most ${maxCharacters} characters.`)
    .meta({ maxLength: maxCharacters });
}

/** Text without NUL, which PostgreSQL can't store; characters are Unicode code points, as JSON Schema counts them. */
export function anyText(maxCharacters: number) {
  return limited(z.string().regex(new RegExp(`^[^${NUL}]*$`), 'Leave out the NUL character.'), maxCharacters);
}

/** The same, with more than white space. U+FEFF is named because not every reader of the pattern has it in `\s`. */
export function writtenText(maxCharacters: number) {
  const form = new RegExp(`^\\s*[^${NUL}\\s\\ufeff][^${NUL}]*$`);
  return limited(
    z.string().regex(form, 'Write some text; white space alone is not enough.'),
    maxCharacters,
  ).meta({ maxLength: maxCharacters, minLength: 1 });
}

/** One line of it: no control characters. */
export function oneLine(maxCharacters: number) {
  const form = new RegExp(`^[^\\S${CONTROLS}]*[^\\s${CONTROLS}\\ufeff][^${CONTROLS}]*$`);
  return limited(
    z.string().regex(form, `Write 1 to ${maxCharacters} characters on one line.`),
    maxCharacters,
  ).meta({ maxLength: maxCharacters, minLength: 1 });
}

const HOST = '(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?\\.)+(?!localhost)[A-Za-z]{2,24}';
const PATH = "(?:[/?](?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?";

/** How an https URL of a public host looks, for the API document. What may be called is the guard's to say. */
export const PUBLIC_URL_PATTERN = `https://(?!xn--)(?![^/?]*\\.xn--)${HOST}${PATH}`;
