import { ConnectionError, DarkroomError } from './errors.ts';
import type { Generation } from './types.ts';

/** An output on its way. */
export interface Download {
  readonly body: ReadableStream<Uint8Array>;
  readonly mediaType: string;
  readonly bytes: number;
  /** Of the whole file, hex: compare it when you have stored it. */
  readonly sha256: string;
}

/**
 * The file of one output by its link. Its body fails rather than ending early, so that a cut file is never taken for whole.
 * @returns null when the link has expired, and a fresh one must be read
 */
export async function downloadOutput(
  generation: Generation,
  index: number,
  way: { readonly baseUrl: string; readonly fetch: typeof fetch; readonly signal: AbortSignal | undefined },
): Promise<Download | null> {
  const output = generation.outputs.find((candidate) => candidate.index === index);
  if (output === undefined) {
    throw new RangeError(
      `Generation ${generation.id} has no stored output ${index}: it is ${generation.state}.`,
    );
  }
  const { url, media_type: mediaType, bytes, sha256 } = output;
  if (url === null || mediaType === null || bytes === null || sha256 === null) {
    throw new RangeError(`Output ${index} of generation ${generation.id} was deleted.`);
  }
  let response: Response;
  try {
    response = await way.fetch(new URL(url, way.baseUrl).href, { signal: way.signal ?? null });
  } catch (cause) {
    way.signal?.throwIfAborted();
    throw new ConnectionError('The file could not be fetched.', null, cause);
  }
  if (response.status === 403) {
    await response.body?.cancel();
    return null;
  }
  if (!response.ok || response.body === null) {
    const problem = (await response.json().catch(() => ({}))) as Record<string, unknown>;
    throw new DarkroomError(response.status, problem, response.headers.get('x-request-id'));
  }
  return { body: response.body.pipeThrough(exactly(bytes)), mediaType, bytes, sha256 };
}

function exactly(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  let seen = 0;
  return new TransformStream({
    transform(chunk, controller) {
      seen += chunk.length;
      controller.enqueue(chunk);
    },
    flush(controller) {
      if (seen !== bytes) controller.error(new Error(`the file ended after ${seen} of ${bytes} bytes`));
    },
  });
}
