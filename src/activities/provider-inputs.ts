import type { GenerationInput } from '../db/index.ts';
import type { Provider, SubmitRequest } from '../domain/provider.ts';
import { inlineMark, inlineParts } from '../providers/frozen-submit.ts';
import type { ActivityDeps } from './deps.ts';

/** Small against the lease: reading a few MiB takes milliseconds. */
const READ_LIMIT_MS = 5_000;

/** The bytes to send, or why this provider can't be given the file; `unreadable` may be otherwise next time. */
export type InlinedRequest =
  | { readonly kind: 'ready'; readonly request: SubmitRequest }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unreadable'; readonly reason: string };

/**
 * Puts files in the place of their marks, as `data:` URIs or in parts: equal at every send, since a stored file never
 * changes. What a provider does not take inline, or not of this size, it can't be given. Never throws.
 */
export async function inlineInputs(
  { storage }: Pick<ActivityDeps, 'storage'>,
  { capabilities }: Pick<Provider, 'capabilities'>,
  request: SubmitRequest,
  stored: readonly GenerationInput[],
  submissionId: string,
): Promise<InlinedRequest> {
  let { body } = request;
  for (const { field, input } of stored) {
    const mark = inlineMark(submissionId, field);
    if (!body.includes(mark)) continue;
    if (input.state !== 'stored') return { kind: 'refused', reason: 'input_deleted' };
    const bytes = Number(input.bytes);
    if (bytes > capabilities.inlineInputBytes) return { kind: 'refused', reason: 'input_not_deliverable' };
    const file = await readWhole(storage.read(input.path), bytes).catch(() => null);
    if (file === null) return { kind: 'unreadable', reason: 'input_unreadable' };
    const base64 = file.toString('base64');
    const parts = inlineParts(mark);
    body = body
      .replaceAll(parts.base64, () => base64)
      .replaceAll(parts.mediaType, () => input.mediaType)
      .replaceAll(mark, () => `data:${input.mediaType};base64,${base64}`);
  }
  return { kind: 'ready', request: { ...request, body } };
}

/** @throws what the storage throws, or when the file is not of this size or takes too long */
async function readWhole(opening: Promise<AsyncIterable<Uint8Array>>, bytes: number): Promise<Buffer> {
  const late = AbortSignal.timeout(READ_LIMIT_MS);
  const collect = async (): Promise<Buffer> => {
    const chunks: Uint8Array[] = [];
    let seen = 0;
    for await (const chunk of await opening) {
      late.throwIfAborted();
      seen += chunk.length;
      if (seen > bytes) break;
      chunks.push(chunk);
    }
    if (seen !== bytes) throw new Error('the stored file has another size than its row');
    return Buffer.concat(chunks, bytes);
  };
  return Promise.race([
    collect(),
    new Promise<never>((_resolve, reject) => {
      late.addEventListener('abort', () => reject(late.reason as Error), { once: true });
    }),
  ]);
}
