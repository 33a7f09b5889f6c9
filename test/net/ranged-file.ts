import { createHash, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { expect } from 'vitest';
import type { DownloadAnswer, DownloadLimits, DownloadRequest } from '../../src/net/types.ts';
import { createClient, startHttp } from './servers.ts';

export const FILE = randomBytes(400_000);
export const ETAG = '"v1"';

export type Break = 'reset' | 'fin' | 'silence';
type Headers = Readonly<Record<string, string>>;

/** What is sent for one request: a part of the file, then a break; or an answer of its own. */
export interface Part {
  /** Bytes of the file after which the source breaks off; absent = all that is left. */
  readonly until?: number;
  readonly by?: Break;
  readonly headers?: Headers;
  readonly status?: number;
  /** Another file under the same name. */
  readonly file?: Buffer;
  /** A whole answer to send instead. */
  readonly instead?: (response: ServerResponse, from: number) => void;
}

export interface Asked {
  readonly range: string | undefined;
  readonly ifRange: string | undefined;
  readonly authorization: string | undefined;
}

const DEFAULTS: Headers = { etag: ETAG, 'content-type': 'video/mp4' };
export const LIMITS: DownloadLimits = { maxBytes: 1_000_000, idleMs: 20_000, totalMs: 60_000 };
/** For tests in which the source falls silent. */
export const SHORT_IDLE: DownloadLimits = { ...LIMITS, idleMs: 1_500 };

/** A server that answers its nth request by the nth part (the last one for all others). */
export async function startRangedFile(parts: readonly Part[], defaults: Headers = DEFAULTS) {
  const asked: Asked[] = [];
  const waiting: { readonly until: number; readonly cut: () => void }[] = [];
  /** To be told of what has arrived: a reset before would throw bytes away that were sent. */
  const onProgress = (bytes: number): void => {
    const due = waiting.findIndex(({ until }) => bytes >= until);
    if (due !== -1) waiting.splice(due, 1)[0]?.cut();
  };
  const server = await startHttp((request, response) => {
    const { range, 'if-range': ifRange, authorization } = request.headers;
    const part = parts[Math.min(asked.length, parts.length - 1)] ?? {};
    asked.push({ range, ifRange: ifRange as string | undefined, authorization });
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    if (part.instead) return part.instead(response, from);
    const file = part.file ?? FILE;
    const content = { 'content-length': String(file.length - from) };
    const partial = range === undefined ? {} : contentRange(from, file.length);
    response.writeHead(part.status ?? (range === undefined ? 200 : 206), {
      ...defaults,
      ...content,
      ...partial,
      ...part.headers,
    });
    const { until, by } = part;
    if (until === undefined) return void response.end(file.subarray(from));
    const cut = (): void => {
      if (by === 'fin') response.socket?.end();
      if (by === 'reset') response.socket?.resetAndDestroy();
    };
    if (until === from) return void response.write('', cut);
    waiting.push({ until, cut });
    response.write(file.subarray(from, until));
  });
  return { server, asked, port: server.port, onProgress };
}

export function contentRange(from: number, total: number, to = total - 1): Headers {
  return { 'content-range': `bytes ${from}-${to}/${total}` };
}

/** Downloads from it; what was written must always be the file's beginning, byte for byte. */
export async function fetchFrom(
  { port, onProgress }: { readonly port: number; readonly onProgress?: (bytes: number) => void },
  options: Partial<DownloadRequest> = {},
): Promise<{ answer: DownloadAnswer; stored: Buffer }> {
  const chunks: Uint8Array[] = [];
  const answer = await createClient([port]).download({
    url: `http://127.0.0.1:${port}/file`,
    hosts: ['127.0.0.1'],
    headersFor: () => ({}),
    limits: LIMITS,
    signal: new AbortController().signal,
    write: async (chunk) => void chunks.push(Buffer.from(chunk)),
    ...options,
    onProgress: (bytes) => {
      options.onProgress?.(bytes);
      onProgress?.(bytes);
    },
  });
  const stored = Buffer.concat(chunks);
  expect(sha256(stored)).toBe(sha256(FILE.subarray(0, stored.length)));
  return { answer, stored };
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
