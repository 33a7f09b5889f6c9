import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SimulatorContext } from './core.ts';
import { reset, sendBytes, sendJson, type Exchange } from './http.ts';
import type { Job } from './jobs.ts';
import { makeMp4 } from './media/mp4.ts';

const MP4 = 'video/mp4';
const CHUNK_BYTES = 65_536;
const SLOW_CHUNKS = 10;

/** A one-pixel PNG: real media, but not what was asked for. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** The URL under which a job's output is served. */
export function fileUrl(baseUrl: string, job: Job): string {
  return `${baseUrl}/files/${job.id}.mp4`;
}

/** The bytes of a job's output: the same at every call, different for each job. */
function fileBytes(job: Job): Buffer {
  return makeMp4(job.id, job.durationSeconds);
}

/** Writes `bytes` zeros, or as many as the reader takes before it goes. */
async function sendZeros({ response }: Exchange, bytes: number): Promise<void> {
  response.writeHead(200, { 'content-type': MP4, 'content-length': bytes });
  const chunk = Buffer.alloc(CHUNK_BYTES);
  const closed = once(response, 'close');
  for (let sent = 0; sent < bytes && !response.destroyed; sent += chunk.length) {
    const part = chunk.subarray(0, Math.min(chunk.length, bytes - sent));
    if (!response.write(part)) await Promise.race([once(response, 'drain'), closed]);
  }
  response.end();
}

async function sendSlowly({ response }: Exchange, bytes: Buffer, chunkMs: number): Promise<void> {
  response.writeHead(200, { 'content-type': MP4, 'content-length': bytes.length });
  const size = Math.ceil(bytes.length / SLOW_CHUNKS);
  for (let start = 0; start < bytes.length && !response.destroyed; start += size) {
    response.write(bytes.subarray(start, start + size));
    await sleep(chunkMs, undefined, { ref: false });
  }
  response.end();
}

function sendHalf(exchange: Exchange, bytes: Buffer): void {
  const { response } = exchange;
  response.writeHead(200, { 'content-type': MP4, 'content-length': bytes.length });
  response.write(bytes.subarray(0, bytes.length / 2), () => reset(exchange));
}

/** `GET /files/{job}.mp4`, with the link faults; 404 for an unknown, unfinished or expired one. */
export async function serveFile(
  exchange: Exchange,
  { faults, jobs, journal }: SimulatorContext,
): Promise<void> {
  const id = /^\/files\/([\w-]+)\.mp4$/.exec(exchange.url.pathname)?.[1] ?? '';
  const job = jobs.get(id);
  const live = job?.status === 'succeeded' && job.output === 'link' && Date.now() < (job.expiresAtMs ?? 0);
  if (job === undefined || !live) {
    return sendJson(exchange, 404, {
      error: { code: 'not_found', message: 'This link is unknown or over.' },
    });
  }
  job.journal.downloads++;
  journal.count('downloads');
  const fault = faults.take(
    job.prompt,
    ...(['link_404', 'link_html', 'link_truncated', 'link_empty'] as const),
    ...(['link_wrong_type', 'link_huge', 'link_slow', 'link_redirect_private'] as const),
  );
  switch (fault?.kind) {
    case undefined:
      return sendBytes(exchange, 200, MP4, fileBytes(job));
    case 'link_404':
      return sendJson(exchange, 404, { error: { code: 'not_found', message: 'This link is over.' } });
    case 'link_html':
      return sendBytes(exchange, 200, 'text/html', Buffer.from('<!doctype html><title>Sign in</title>'));
    case 'link_truncated':
      return sendHalf(exchange, fileBytes(job));
    case 'link_empty':
      return sendBytes(exchange, 200, MP4, Buffer.alloc(0));
    case 'link_wrong_type':
      return sendBytes(exchange, 200, 'image/png', PNG);
    case 'link_huge':
      return sendZeros(exchange, fault.bytes);
    case 'link_slow':
      return sendSlowly(exchange, fileBytes(job), fault.ms);
    case 'link_redirect_private':
      return sendBytes(exchange, 302, 'text/plain', Buffer.alloc(0), { location: fault.url });
  }
}
