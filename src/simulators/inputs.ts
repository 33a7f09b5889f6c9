import { createHash } from 'node:crypto';
import { get } from 'node:http';
import type { InputRecord } from './journal.ts';

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;

function record(source: InputRecord['source'], mediaType: string, bytes: Buffer): InputRecord {
  return {
    source,
    answer: 200,
    media_type: mediaType,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
}

const failed = (answer: number | string): InputRecord => ({
  source: 'link',
  answer,
  media_type: null,
  bytes: 0,
  sha256: null,
});

/**
 * Takes the file that a job was given, as the provider would: from its `data:` URI, or from its link, once, without
 * following redirects. A simulator goes to this machine only. Never fails; the record tells what came.
 */
export function takeInput(url: string): Promise<InputRecord> {
  const [, mediaType, base64] = /^data:([^;,]+);base64,([A-Za-z0-9+/]+={0,2})$/.exec(url) ?? [];
  if (mediaType !== undefined && base64 !== undefined) {
    return Promise.resolve(record('inline', mediaType, Buffer.from(base64, 'base64')));
  }
  if (!URL.canParse(url) || new URL(url).protocol !== 'http:' || new URL(url).hostname !== '127.0.0.1') {
    return Promise.resolve(failed('not_fetched'));
  }
  return new Promise((resolve) => {
    const outgoing = get(url, { agent: false }, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_BYTES) outgoing.destroy(new Error('too_large'));
        else chunks.push(chunk);
      });
      response.once('error', () => resolve(failed('cut')));
      response.once('end', () => {
        const { statusCode = 0, headers } = response;
        if (statusCode !== 200) resolve(failed(statusCode));
        else resolve(record('link', headers['content-type'] ?? '', Buffer.concat(chunks)));
      });
    });
    const timer = setTimeout(() => outgoing.destroy(new Error('timeout')), TIMEOUT_MS);
    outgoing.once('close', () => clearTimeout(timer));
    outgoing.once('error', () => resolve(failed('connection_failed')));
  });
}
