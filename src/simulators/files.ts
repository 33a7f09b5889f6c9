import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { reset, sendAnswer, sendBytes, sendJson, type Exchange } from './http.ts';
import { isExpired, type Job } from './jobs.ts';
import { MEDIA } from './media/kinds.ts';
import type { SimulatorContext } from './protocol.ts';

const CHUNK_BYTES = 65_536;
const SLOW_CHUNKS = 10;

/** One output of a job: its bytes are the same at every call, and differ by job and index. */
interface OutputFile {
  readonly job: Job;
  readonly type: string;
  readonly bytes: () => Buffer;
}

/** The URLs of a job's outputs; empty unless it succeeded with output that is still there. */
export function outputUrls(baseUrl: string, job: Job): readonly string[] {
  if (job.state !== 'succeeded' || job.output !== 'link' || isExpired(job)) return [];
  const { extension } = MEDIA[job.media];
  const folder = `${baseUrl}/files/${encodeURIComponent(job.id)}`;
  return Array.from({ length: job.outputCount }, (_, n) => `${folder}/${n}.${extension}`);
}

/** Where links are made anew at each look: they live from now on. */
export function refreshLinks(job: Job, ttlMs: number): void {
  if (job.expiresAtMs !== null) job.expiresAtMs = Date.now() + ttlMs;
}

/** Writes `bytes` zeros, or as many as the reader takes before it goes. */
async function sendZeros({ response }: Exchange, type: string, bytes: number): Promise<void> {
  response.writeHead(200, { 'content-type': type, 'content-length': bytes });
  const chunk = Buffer.alloc(CHUNK_BYTES);
  const closed = once(response, 'close');
  for (let sent = 0; sent < bytes && !response.destroyed; sent += chunk.length) {
    const part = chunk.subarray(0, Math.min(chunk.length, bytes - sent));
    if (!response.write(part)) await Promise.race([once(response, 'drain'), closed]);
  }
  response.end();
}

async function sendSlowly(
  { response }: Exchange,
  type: string,
  bytes: Buffer,
  chunkMs: number,
): Promise<void> {
  response.writeHead(200, { 'content-type': type, 'content-length': bytes.length });
  const size = Math.ceil(bytes.length / SLOW_CHUNKS);
  for (let start = 0; start < bytes.length && !response.destroyed; start += size) {
    response.write(bytes.subarray(start, start + size));
    await sleep(chunkMs, undefined, { ref: false });
  }
  response.end();
}

function sendHalf(exchange: Exchange, type: string, bytes: Buffer): void {
  const { response } = exchange;
  response.writeHead(200, { 'content-type': type, 'content-length': bytes.length });
  response.write(bytes.subarray(0, bytes.length / 2), () => reset(exchange));
}

/** The output behind a path; undefined for an unknown, unfinished or expired one. */
function fileAt(path: string, { jobs, baseUrl }: SimulatorContext): OutputFile | undefined {
  const [, id = '', index = ''] = /^\/files\/([^/]+)\/(\d{1,2})\.\w+$/.exec(path) ?? [];
  const job = jobs.get(decodeURIComponent(id));
  if (job === undefined) return undefined;
  const isLive = outputUrls(baseUrl, job).some((url) => new URL(url).pathname.endsWith(path));
  const { type, make } = MEDIA[job.media];
  return isLive ? { job, type, bytes: () => make(`${job.id}/${index}`, job.durationSeconds) } : undefined;
}

const notFound = (exchange: Exchange): void =>
  sendJson(exchange, 404, { error: { code: 'not_found', message: 'This link is unknown or over.' } });

/** `GET /files/{job}/{n}.{extension}`, with the link faults; 404 for an unknown, unfinished or expired one. */
export async function serveFile(exchange: Exchange, context: SimulatorContext): Promise<void> {
  const { provider, options, faults, journal } = context;
  const file = fileAt(exchange.url.pathname, context);
  if (provider.filesNeedKey === true && !provider.isAuthorized(exchange, options.apiKeys)) {
    return sendAnswer(exchange, provider.error({ kind: 'unauthorized' }));
  }
  if (file === undefined) return notFound(exchange);
  const { job, type, bytes } = file;
  job.journal.downloads++;
  journal.count('downloads');
  const fault = faults.take(
    job.prompt,
    ...(['link_404', 'link_html', 'link_truncated', 'link_empty'] as const),
    ...(['link_wrong_type', 'link_huge', 'link_slow', 'link_redirect_private'] as const),
  );
  switch (fault?.kind) {
    case undefined:
      return sendBytes(exchange, 200, type, bytes());
    case 'link_404':
      return notFound(exchange);
    case 'link_html':
      return sendBytes(exchange, 200, 'text/html', Buffer.from('<!doctype html><title>Sign in</title>'));
    case 'link_truncated':
      return sendHalf(exchange, type, bytes());
    case 'link_empty':
      return sendBytes(exchange, 200, type, Buffer.alloc(0));
    case 'link_wrong_type': {
      const wrong = MEDIA[MEDIA[job.media].wrong];
      return sendBytes(exchange, 200, wrong.type, wrong.make(job.id, 1));
    }
    case 'link_huge':
      return sendZeros(exchange, type, fault.bytes);
    case 'link_slow':
      return sendSlowly(exchange, type, bytes(), fault.ms);
    case 'link_redirect_private':
      return sendBytes(exchange, 302, 'text/plain', Buffer.alloc(0), { location: fault.url });
  }
}
