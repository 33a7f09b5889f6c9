import type { GenerationInput, LoadedGeneration } from '../db/index.ts';
import type { JsonObject } from '../domain/json.ts';
import type { Provider, SubmitRequest } from '../domain/provider.ts';
import type { ActivityDeps } from './deps.ts';

/** After the deadline a provider may still fetch what it began with. */
const LINK_GRACE_MS = 3_600_000;
/** Small against the lease: reading a few MiB takes milliseconds. */
const READ_LIMIT_MS = 5_000;

/**
 * Stands in the frozen bytes for a file that goes inline, so that no row holds the file. Nobody can know it before the
 * submission is there, so no text of a tenant can hold it.
 */
function inlineMark(submissionId: string, field: string): string {
  return `https://input.invalid/${submissionId}/${field}`;
}

/**
 * The input as its provider is asked with it: each stored file by a link that we sign, or by a mark for its bytes where
 * no provider could reach us. A file that was never stored (version 0.1) keeps the tenant's URL.
 */
export function inputForProvider(
  { links }: Pick<ActivityDeps, 'links'>,
  { input, deadlineInMs }: Pick<LoadedGeneration['generation'], 'input' | 'deadlineInMs'>,
  stored: readonly GenerationInput[],
  submissionId: string,
): JsonObject {
  const lifetimeMs = Math.max(deadlineInMs, 0) + LINK_GRACE_MS;
  const files = stored.map(({ field, linkVersion, input: { id: inputId, tenantId } }) => {
    const link = links?.link({ tenantId, linkVersion }, { kind: 'input', inputId }, { lifetimeMs });
    return [field, link?.url ?? inlineMark(submissionId, field)] as const;
  });
  return { ...input, ...Object.fromEntries(files) };
}

/** The bytes to send, or why this provider can't be given the file; `unreadable` may be otherwise next time. */
export type InlinedRequest =
  | { readonly kind: 'ready'; readonly request: SubmitRequest }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unreadable'; readonly reason: string };

/**
 * Puts files in the place of their marks, as `data:` URIs: equal at every send, since a stored file never changes. What
 * a provider does not take inline, or not of this size, it can't be given. Never throws.
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
    const uri = `data:${input.mediaType};base64,${file.toString('base64')}`;
    body = body.replaceAll(mark, () => uri);
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
