/** Response headers as plain text: lower-case names, repeated ones joined by ", ". */
export function joinHeaders(
  raw: Readonly<Record<string, string | string[] | undefined>>,
): Readonly<Record<string, string>> {
  const joined: Record<string, string> = {};
  for (const [name, value] of Object.entries(raw)) {
    if (value !== undefined) joined[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  }
  return joined;
}

const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

/** Those that belong to the connection, and Host, which would reach another site behind the vetted address. */
const OURS = new Set(
  'host connection content-length expect keep-alive te trailer transfer-encoding upgrade'.split(' '),
);

/** Request headers with lower-case names, or null when one is malformed or not the caller's to set. */
export function prepareHeaders(headers: Readonly<Record<string, string>>): Record<string, string> | null {
  const prepared: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (OURS.has(lower) || !NAME.test(lower) || !VALUE.test(value)) return null;
    prepared[lower] = value;
  }
  return prepared;
}
