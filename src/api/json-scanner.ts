import { jsonPointer } from '../services/issue-paths.ts';

/** What strict reading refuses although `JSON.parse` may take it. */
export type JsonProblemCode =
  | 'malformed_json'
  | 'trailing_data'
  | 'too_deep'
  | 'duplicate_key'
  | 'forbidden_key'
  | 'forbidden_character'
  | 'lone_surrogate'
  | 'unsafe_number';

/** `path` is the JSON pointer of the place, `offset` counts UTF-16 units from the start. */
export interface JsonProblem {
  readonly code: JsonProblemCode;
  readonly path: string;
  readonly offset: number;
}

export const MAX_DEPTH = 32;
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const LITERAL = /true|false|null/y;

type Frame =
  | { readonly kind: 'object'; readonly keys: Set<string>; key: string }
  | { readonly kind: 'array'; index: number };
type Expected = 'value' | 'value_or_end' | 'key' | 'key_or_end' | 'comma_or_end' | 'end';

/**
 * Walks one JSON text (RFC 8259) without recursion and returns the first problem, or null. After null, `JSON.parse`
 * gives the same value that any other reader would see.
 */
export function scanJson(text: string): JsonProblem | null {
  const stack: Frame[] = [];
  let at = 0;
  let expected: Expected = 'value';

  const problem = (code: JsonProblemCode): JsonProblem => ({ code, path: pathOf(stack), offset: at });
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  const afterValue = (): Expected => (stack.length === 0 ? 'end' : 'comma_or_end');

  for (;;) {
    at = skipWhiteSpace(text, at);
    const char = text[at];
    if (expected === 'end') return char === undefined ? null : problem('trailing_data');
    const top = stack.at(-1);

    if (char === undefined) return problem('malformed_json');
    if ((char === '}' || char === ']') && endsHere(expected, top, char)) {
      stack.pop();
      at += 1;
      expected = afterValue();
    } else if (expected === 'comma_or_end') {
      if (char !== ',' || top === undefined) return problem('malformed_json');
      at += 1;
      if (top.kind === 'array') top.index += 1;
      expected = top.kind === 'array' ? 'value' : 'key';
    } else if (expected === 'key' || expected === 'key_or_end') {
      const string = top?.kind === 'object' ? readString(text, at) : null;
      if (string === null || top?.kind !== 'object') return problem('malformed_json');
      top.key = string.code === null ? string.value : '';
      const code = string.code ?? keyProblem(top.keys, string.value);
      if (code !== null) return problem(code);
      top.keys.add(string.value);
      at = skipWhiteSpace(text, string.end);
      if (text[at] !== ':') return problem('malformed_json');
      at += 1;
      expected = 'value';
    } else if (char === '{' || char === '[') {
      if (stack.length >= MAX_DEPTH) return problem('too_deep');
      stack.push(char === '{' ? { kind: 'object', keys: new Set(), key: '' } : { kind: 'array', index: 0 });
      at += 1;
      expected = char === '{' ? 'key_or_end' : 'value_or_end';
    } else if (char === '"') {
      const string = readString(text, at);
      if (string === null) return problem('malformed_json');
      if (string.code !== null) return problem(string.code);
      at = string.end;
      expected = afterValue();
    } else {
      const scalar = match(LITERAL) ?? match(NUMBER);
      if (scalar === undefined || scalar === '') return problem('malformed_json');
      if (/\d$/.test(scalar) && !roundTrips(scalar)) return problem('unsafe_number');
      at += scalar.length;
      expected = afterValue();
    }
  }
}

function skipWhiteSpace(text: string, from: number): number {
  let at = from;
  for (let code = text.charCodeAt(at); isWhiteSpace(code); code = text.charCodeAt(at)) at += 1;
  return at;
}

function isWhiteSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}

function endsHere(expected: Expected, top: Frame | undefined, char: '}' | ']'): boolean {
  if (top === undefined || (top.kind === 'object') !== (char === '}')) return false;
  return expected === 'comma_or_end' || expected === 'key_or_end' || expected === 'value_or_end';
}

/** The string that begins at `at`, with what is wrong inside it; null when it is no JSON string. */
function readString(
  text: string,
  at: number,
): { readonly value: string; readonly end: number; readonly code: JsonProblemCode | null } | null {
  if (text[at] !== '"') return null;
  let end = at + 1;
  for (let code = text.charCodeAt(end); code !== 0x22; code = text.charCodeAt(end)) {
    if (code === 0) return { value: '', end, code: 'forbidden_character' };
    if (Number.isNaN(code) || code < 0x20) return null;
    end += code === 0x5c ? 2 : 1;
  }
  end += 1;
  let value: string;
  try {
    value = JSON.parse(text.slice(at, end)) as string;
  } catch {
    return null;
  }
  if (value.includes('\0')) return { value, end, code: 'forbidden_character' };
  // With the u flag a surrogate that is half of a pair doesn't match.
  return { value, end, code: /[\ud800-\udfff]/u.test(value) ? 'lone_surrogate' : null };
}

function keyProblem(keys: ReadonlySet<string>, key: string): JsonProblemCode | null {
  if (FORBIDDEN_KEYS.has(key)) return 'forbidden_key';
  return keys.has(key) ? 'duplicate_key' : null;
}

/** Whether the number that a double holds has the very digits that were written. */
function roundTrips(literal: string): boolean {
  // Up to 15 digits a double holds every integer; a body may have half a million of them.
  if (/^-?\d{1,15}$/.test(literal)) return true;
  const value = Number(literal);
  return Number.isFinite(value) && decimal(literal) === decimal(String(value));
}

/** Digits without leading and trailing zeros, and the power of ten of the last one; the sign is never lost. */
function decimal(literal: string): string {
  const [mantissa = '', exponent = '0'] = literal.toLowerCase().replace(/^-/, '').split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = withoutEndZeros(digits);
  if (significant === '') return '0';
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

/** Not by a pattern: one that must reach the end begins anew at each zero, and a number may have a million. */
function withoutEndZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}

function pathOf(stack: readonly Frame[]): string {
  return jsonPointer(stack.map((frame) => (frame.kind === 'array' ? frame.index : frame.key)));
}
