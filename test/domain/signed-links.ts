import { createFileLinks, type LinkedFile } from '../../src/domain/file-links.ts';
import { parseKeyring } from '../../src/domain/keyring.ts';

export const NOW = Date.UTC(2026, 10, 29, 12, 7, 3, 211);
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
export const OWNER = { tenantId: 'ten_a', linkVersion: 3 };
export const SIGNER = { tenantId: 'ten_a', linkVersions: [3] };
export const OUTPUT = {
  kind: 'output',
  generationId: 'gen_06f1m4k2h8v7x9q3w5y1z0a2b4',
  index: 0,
} as const satisfies LinkedFile;

export const entry = (id: string, byte: number) => `${id}:${Buffer.alloc(32, byte).toString('base64')}`;
export const ring = (...entries: string[]) => parseKeyring(entries.join(','));

/** Links whose clock a test sets. */
export function clocked(keyring = ring(entry('k1', 1)), publicUrl: string | null = null) {
  const clock = { ms: NOW };
  return { clock, links: createFileLinks(keyring, publicUrl, () => clock.ms) };
}

/** Links at NOW, always. */
export const { links } = clocked();

/** Path and query of a link, as they are sent: the first question mark parts them, others belong to the query. */
export function partsOf(url: string): [path: string, query: string] {
  const at = url.indexOf('?');
  return at === -1 ? [url, ''] : [url.slice(0, at), url.slice(at + 1)];
}

export function linkTo(file: LinkedFile = OUTPUT, owner = OWNER, options = {}) {
  const link = links.link(owner, file, options);
  if (link === null) throw new Error('no link');
  return link;
}
