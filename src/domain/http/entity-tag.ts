import { createHash } from 'node:crypto';

/** A strong validator of exactly these bytes. */
export function entityTag(body: string): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;
}

/** `If-None-Match` (RFC 9110 §13.1.2): weak comparison, lists and `*`; anything unreadable matches nothing. */
export function matchesEntityTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  return header.split(',').some((part) => part.trim().replace(/^W\//, '') === tag);
}
