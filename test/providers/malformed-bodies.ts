/** Bodies that are no callback, whoever signed them. */
export function malformedBodies(
  bodyOf: (jobId: string) => string,
  jobId: string,
): [name: string, raw: Buffer][] {
  const body = bodyOf(jobId);
  return [
    ['no JSON', Buffer.from('payload=%7B%7D')],
    ['not UTF-8', Buffer.from(body.replace('{', '{"t":"\u00ff",'), 'latin1')],
    ['UTF-16', Buffer.from(body, 'utf16le')],
    ['byte order mark', Buffer.from(`\ufeff${body}`)],
    ['a list', Buffer.from(`[${body}]`)],
    ['null', Buffer.from('null')],
    ['nested 50,000 deep', Buffer.from('['.repeat(50_000) + ']'.repeat(50_000))],
    ['NUL in the id', Buffer.from(bodyOf('job\\u0000'))],
    ['lone surrogate in the id', Buffer.from(bodyOf('job\\ud800'))],
    ['dots as id', Buffer.from(bodyOf('..'))],
    ['endless id', Buffer.from(bodyOf('j'.repeat(256)))],
  ];
}
