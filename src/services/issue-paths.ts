import type { z } from 'zod';

/** One wrong field: its JSON pointer (RFC 6901) and what to do. */
export interface FieldError {
  readonly path: string;
  readonly message: string;
}

const MAX_ERRORS = 20;

const MAX_PART_CHARACTERS = 64;

/** JSON pointer of a path; '' is the whole document. Long names are cut, since they come from the sender. */
export function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${cut(String(part)).replace(/~/g, '~0').replace(/\//g, '~1')}`).join('');
}

function cut(name: string): string {
  if (name.length <= MAX_PART_CHARACTERS) return name;
  // A cut through a surrogate pair would leave half a character.
  return `${name.slice(0, MAX_PART_CHARACTERS).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** The issues of a failed parse, unknown fields named one by one, at most 20. */
export function fieldErrors(error: z.ZodError): FieldError[] {
  return error.issues
    .flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => ({
            path: jsonPointer([...issue.path, key]),
            message: 'Unknown field: remove it or correct its name.',
          }))
        : [{ path: jsonPointer(issue.path), message: messageOf(issue) }],
    )
    .slice(0, MAX_ERRORS);
}

function messageOf(issue: z.core.$ZodIssue): string {
  if (
    issue.code === 'invalid_type' &&
    issue.input === undefined &&
    issue.message.endsWith('received undefined')
  ) {
    return 'Required: this field is missing.';
  }
  return issue.message;
}
