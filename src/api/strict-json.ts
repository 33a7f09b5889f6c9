import type { IncomingMessage } from 'node:http';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import { readBody } from './body.ts';
import { MAX_DEPTH, scanJson, type JsonProblem, type JsonProblemCode } from './json-scanner.ts';
import { Problem, type ProblemCode } from './problems.ts';

const MAX_BODY_BYTES = 1024 * 1024;
const JSON_MEDIA_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*(?:utf-8|"utf-8")[ \t]*)?;?$/i;

const DETAILS: Readonly<Record<JsonProblemCode, string>> = {
  malformed_json: 'Correct the JSON syntax',
  trailing_data: 'Send exactly one JSON value and nothing after it; it goes on',
  too_deep: `Nest at most ${MAX_DEPTH} levels; there is one more`,
  duplicate_key: 'Name every key once in its object; the second one is',
  forbidden_key: 'Rename this key; "__proto__", "constructor" and "prototype" are never taken',
  forbidden_character: 'Remove the NUL character (\\u0000)',
  lone_surrogate: 'Send whole characters; half of a surrogate pair is',
  unsafe_number: 'Send a number that a 64-bit float holds exactly, or a text; this one would change',
};

/**
 * Reads and parses a JSON body: `application/json` (UTF-8 only), at most 1 MiB, no Content-Encoding.
 * @throws Problem, one clear code per kind of fault.
 */
export async function readJsonObject(request: IncomingMessage): Promise<JsonObject> {
  if (!JSON_MEDIA_TYPE.test(request.headers['content-type']?.trim() ?? '')) {
    throw new Problem('unsupported_media_type', 'Send Content-Type: application/json, in UTF-8.', {
      headers: { 'Accept-Post': 'application/json' },
    });
  }
  const value = parseStrictJson(await readBody(request, MAX_BODY_BYTES));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Problem('invalid_request', 'Send a JSON object.', {
      errors: [{ path: '', message: 'Must be an object.' }],
    });
  }
  return value as JsonObject;
}

/** Parses bytes that every JSON reader would understand alike. @throws Problem (400). */
export function parseStrictJson(bytes: Uint8Array): JsonValue {
  if (bytes.length === 0) throw new Problem('empty_body', 'Send a JSON object as the body.');
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw new Problem('byte_order_mark', 'Send UTF-8 without a byte order mark.');
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Problem('invalid_utf8', 'Send the JSON text in UTF-8.');
  }
  const problem = scanJson(text);
  if (problem !== null) throw jsonProblem(problem);
  return JSON.parse(text) as JsonValue;
}

function jsonProblem({ code, path, offset }: JsonProblem): Problem {
  const message = `${DETAILS[code]} at offset ${offset}.`;
  return new Problem(code, message, { errors: [{ path, message }] });
}

/** All that reading a JSON body can answer, for the API document. */
export const JSON_PROBLEMS: readonly ProblemCode[] = [
  'empty_body',
  'incomplete_body',
  'invalid_utf8',
  'byte_order_mark',
  ...(Object.keys(DETAILS) as JsonProblemCode[]),
  'body_too_large',
  'unsupported_media_type',
  'unsupported_content_encoding',
];
