import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import busboy, { type Busboy } from 'busboy';
import { bodyTooLarge } from './body.ts';
import { streamBody } from './body-stream.ts';
import { PartCounter } from './form-parts.ts';
import { Problem, type ProblemCode } from './problems.ts';
import { invalidRequest } from './validation.ts';

/** All text of a form, which is in memory, is for a few words and a small image; a file has its own bound. */
const MAX_FIELDS = 32;
const MAX_TEXT_BYTES = 1024 * 1024;
const MAX_NAME_CHARACTERS = 100;
/** Boundaries and headers of all parts. */
const MAX_FRAMING_BYTES = 64 * 1024;
/** What a decoder puts for bytes that it can't read; for a charset that it doesn't know there is no text at all. */
const UNREADABLE = '\uFFFD';
/** What PostgreSQL keeps in no text. A half comes out of UTF-16, which a part may name as its charset. */
const UNSTORABLE = /[\0\ud800-\udfff]/u;

/** All that reading a form can answer, for the API document. */
export const FORM_PROBLEMS: readonly ProblemCode[] = [
  'malformed_form',
  'incomplete_body',
  'body_too_large',
  'unsupported_media_type',
  'unsupported_content_encoding',
  'invalid_request',
];

export interface FormLimits {
  readonly maxFileBytes: number;
  /** Without a byte for this long the body counts as ended, in milliseconds. */
  readonly idleMs: number;
}

/** Hands a file on, chunk by chunk; throws when the whole did not come. */
export type FilePump = (write: (chunk: Uint8Array) => Promise<void>) => Promise<void>;

export function isForm(request: IncomingMessage): boolean {
  return /^multipart\//i.test(request.headers['content-type']?.trim() ?? '');
}

/**
 * Reads a `multipart/form-data` body with text fields, each once, and at most one file, which is never in memory. The body
 * is read to its end, or its bound, whatever is wrong with it, so that the client sees the answer.
 * @param takeFile takes the file of this field, or null when there is none of this name
 * @returns the text fields by name, in UTF-8
 * @throws Problem, and what `takeFile` throws
 */
export async function readForm(
  request: IncomingMessage,
  { maxFileBytes, idleMs }: FormLimits,
  takeFile: (field: string, pump: FilePump) => Promise<void> | null,
): Promise<ReadonlyMap<string, string>> {
  const form = parserOf(request, maxFileBytes);
  const fields = new Map<string, string>();
  const faults: unknown[] = [];
  const counter = new PartCounter(request.headers['content-type']);
  let seen = 0;
  let textBytes = 0;
  const files: Promise<void>[] = [];
  form.on('field', (name: string | undefined, value: string | undefined, { valueTruncated, encoding }) => {
    seen += 1;
    textBytes += Buffer.byteLength(value ?? '');
    if (name === undefined || name.length > MAX_NAME_CHARACTERS) {
      faults.push(malformed('Each part needs a short name.'));
    } else if (fields.has(name)) {
      faults.push(invalidRequest([{ path: `/${name}`, message: 'Give this field once.' }]));
    } else if (valueTruncated || textBytes > MAX_TEXT_BYTES) {
      faults.push(
        invalidRequest([{ path: `/${name}`, message: `Send at most ${MAX_TEXT_BYTES} bytes of text.` }]),
      );
    } else if (!/^([78]bit|binary)$/i.test(encoding)) {
      // RFC 7578 §4.7 has deprecated it; undone by nobody, its code would be the prompt.
      faults.push(
        invalidRequest([{ path: `/${name}`, message: 'Send this text without Content-Transfer-Encoding.' }]),
      );
    } else if (value === undefined || value.includes(UNREADABLE)) {
      faults.push(
        invalidRequest([
          { path: `/${name}`, message: 'Send this text in UTF-8; the part of a file needs a filename.' },
        ]),
      );
    } else if (UNSTORABLE.test(value)) {
      faults.push(
        invalidRequest([
          { path: `/${name}`, message: 'Leave out NUL characters and halves of surrogate pairs.' },
        ]),
      );
    } else {
      fields.set(name, value);
    }
  });
  form.on('file', (name: string | undefined, stream) => {
    seen += 1;
    // Told by the promise of whoever reads it; nobody may have begun yet.
    stream.on('error', () => {});
    stream.once('limit', () => faults.push(bodyTooLarge(maxFileBytes)));
    const taken = takeFile(name ?? '', (write) => pump(stream, write));
    if (taken === null) {
      const path = `/${(name ?? '').slice(0, MAX_NAME_CHARACTERS)}`;
      faults.push(invalidRequest([{ path, message: 'Takes no file.' }]));
      stream.resume();
      return;
    }
    files.push(
      taken.catch((error: unknown) => {
        faults.push(error);
        stream.resume();
      }),
    );
  });
  for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
    form.once(limit, () => faults.push(malformed(`Send at most ${MAX_FIELDS} fields and one file.`)));
  }
  let broken = false;
  const failed = new Promise<void>((resolve) => {
    form.on('error', () => {
      broken = true;
      resolve();
    });
  });
  const maxBytes = maxFileBytes + MAX_TEXT_BYTES + MAX_FRAMING_BYTES;
  try {
    await streamBody(request, { maxBytes, idleMs }, async (chunk) => {
      if (broken) return;
      counter.take(chunk);
      const written = new Promise<void>((resolve) => {
        form.write(chunk, () => resolve());
      });
      await Promise.race([written, failed]);
    });
    if (!broken) {
      const closed = new Promise<void>((resolve) => {
        form.once('close', () => resolve());
      });
      form.end();
      await Promise.race([closed, failed]);
    }
    if (broken) faults.push(malformed('A part, or the end of the form, could not be read.'));
    else if (seen !== counter.parts) {
      faults.push(malformed('Each part needs "Content-Disposition: form-data" with its name in quotes.'));
    }
  } catch (error) {
    faults.unshift(error);
  } finally {
    form.destroy();
    await Promise.all(files);
  }
  if (faults.length > 0) throw faults[0];
  return fields;
}

function parserOf(request: IncomingMessage, maxFileBytes: number): Busboy {
  try {
    return busboy({
      headers: request.headers,
      defParamCharset: 'utf8',
      limits: {
        fieldNameSize: MAX_NAME_CHARACTERS,
        fieldSize: MAX_TEXT_BYTES,
        fields: MAX_FIELDS,
        files: 1,
        // It takes a file of exactly this size for one that is too large.
        fileSize: maxFileBytes + 1,
        parts: MAX_FIELDS + 2,
      },
    });
  } catch {
    throw malformed('Send multipart/form-data with its boundary in Content-Type.');
  }
}

function malformed(detail: string): Problem {
  return new Problem('malformed_form', detail);
}

/** Reads all of it also when `write` fails, so that the parts behind it are read. */
async function pump(stream: Readable, write: (chunk: Uint8Array) => Promise<void>): Promise<void> {
  let failure: { readonly error: unknown } | null = null;
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    if (failure !== null) continue;
    await write(chunk).catch((error: unknown) => {
      failure = { error };
    });
  }
  if (failure !== null) throw (failure as { readonly error: unknown }).error;
}
