import { uploadFile } from '../net/index.ts';
import {
  failed,
  type ScanConfig,
  type ScannedFile,
  type ScanResult,
  timedOut,
  UNREADABLE,
} from './scan-result.ts';

/** POSTs the file; only 200 with `{"clean": true}`, given after all of its bytes, is a pass. */
export async function scanByUrl(
  { url, timeoutMs }: Extract<ScanConfig, { kind: 'url' }>,
  file: ScannedFile,
  signal: AbortSignal,
): Promise<ScanResult> {
  const { bytes, mediaType: contentType } = file;
  let answer: Awaited<ReturnType<typeof uploadFile>>;
  try {
    answer = await uploadFile({ url, contentType, bytes, body: bytesOf(file), timeoutMs, signal });
  } catch {
    signal.throwIfAborted();
    return UNREADABLE;
  }
  if (answer.kind === 'failed') {
    if (answer.reason === 'timeout') return timedOut(timeoutMs);
    return failed(`SCAN_URL gave no answer: ${answer.reason}`);
  }
  if (answer.status !== 200) return failed(`SCAN_URL answered ${answer.status} in place of 200`);
  const isClean = readAnswer(answer.body);
  if (isClean === null) return failed('SCAN_URL answered neither {"clean": true} nor {"clean": false}');
  if (!isClean) return { kind: 'infected' };
  return answer.sentAll ? { kind: 'clean' } : failed('SCAN_URL answered before it had the whole file');
}

async function* bytesOf(file: ScannedFile): AsyncGenerator<Uint8Array> {
  yield* await file.read();
}

function readAnswer(body: Buffer): boolean | null {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (typeof value !== 'object' || value === null || !('clean' in value)) return null;
    return typeof value.clean === 'boolean' ? value.clean : null;
  } catch {
    return null;
  }
}
