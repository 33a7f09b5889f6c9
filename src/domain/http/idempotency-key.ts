/** Why a header is no usable key; each has its own detail in the answer. */
export type IdempotencyKeyProblem =
  | 'missing'
  | 'repeated'
  | 'empty'
  | 'too_long'
  | 'list'
  | 'characters'
  | 'quoting';

export type IdempotencyKeyResult =
  | { readonly ok: true; readonly key: string }
  | { readonly ok: false; readonly problem: IdempotencyKeyProblem };

const MAX_CHARACTERS = 255;
/** RFC 8941 §3.3.3: printable ASCII, with `\"` and `\\` as the only escapes. Space is legal inside quotes. */
const SF_STRING = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;
/** The wide-spread bare form: visible ASCII without the characters that would make it a list or a string. */
const BARE = /^[!#-+\--:<-[\]-~]+$/;

/**
 * Reads the values of `Idempotency-Key` (one array element a header line). The quoted form and the bare form
 * give the same key; parameters, lists, empty and over 255 characters are refused.
 */
export function parseIdempotencyKey(values: readonly string[]): IdempotencyKeyResult {
  const [value] = values;
  if (value === undefined) return { ok: false, problem: 'missing' };
  if (values.length > 1) return { ok: false, problem: 'repeated' };
  const text = value.trim();
  if (text === '' || text === '""') return { ok: false, problem: 'empty' };
  // Checked before the form, so that a huge header is judged by its length alone.
  if (text.length > 2 * MAX_CHARACTERS + 2) return { ok: false, problem: 'too_long' };
  if (!/^[ -~]*$/.test(text)) return { ok: false, problem: 'characters' };
  const quoted = SF_STRING.exec(text)?.[1]?.replace(/\\(.)/g, '$1');
  const key = quoted ?? (BARE.test(text) ? text : undefined);
  if (key === undefined) return { ok: false, problem: formProblem(text) };
  return key.length > MAX_CHARACTERS ? { ok: false, problem: 'too_long' } : { ok: true, key };
}

function formProblem(text: string): IdempotencyKeyProblem {
  const outsideQuotes = text.replace(/"(?:[^"\\]|\\.)*"/g, '');
  if (outsideQuotes.includes(',')) return 'list';
  return text.includes('"') || outsideQuotes.includes(';') ? 'quoting' : 'characters';
}
