import type { IncomingMessage } from 'node:http';
import { Problem } from '../../problems.ts';

/** In absolute form too (RFC 9112 §3.2.2). No path of ours has a dot or an escape. */
const TARGET = /^(?:https?:\/\/[^/?#]*)?(\/[A-Za-z0-9_/-]*)(?:\?(.*))?$/i;

/** Path and query of a link as they were sent, undecoded. @throws Problem 404 for a path that no link can have */
export function linkTarget(request: IncomingMessage): { readonly path: string; readonly query: string } {
  const [, path, query = ''] = TARGET.exec(request.url ?? '') ?? [];
  if (path === undefined) throw new Problem('not_found', 'Use the link as it was given, without changes.');
  return { path, query };
}
