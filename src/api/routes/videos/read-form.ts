import type { IncomingMessage } from 'node:http';
import type { JsonObject, JsonValue } from '../../../domain/json.ts';
import { MAX_INPUT_BYTES } from '../../../domain/media-limits.ts';
import type { StoredReference } from '../../../domain/video-request.ts';
import {
  dropReference,
  storeReference,
  type StoreReferenceOutcome,
} from '../../../services/store-reference.ts';
import { allowLongBody } from '../../body-time.ts';
import { readForm, type FilePump } from '../../form.ts';
import { Problem } from '../../problems.ts';
import type { ApiContext } from '../../route.ts';
import { parseStrictJson } from '../../strict-json.ts';
import { invalidRequest } from '../../validation.ts';
import { scanUnavailable, tooManyFiles } from '../inputs/parts.ts';

const LIMITS = { maxFileBytes: MAX_INPUT_BYTES, idleMs: 15_000 };
/** How official clients spell a member of an object: `input_reference[image_url]`. */
const MEMBER = /^([a-z_]+)\[([a-z_]+)\]$/;

/**
 * The fields of a form as a JSON body has them, and its file `input_reference`, stored.
 * @throws Problem; a file that was stored is let go of
 */
export async function readVideoForm(
  ctx: ApiContext,
  { tenantId, request }: { readonly tenantId: string; readonly request: IncomingMessage },
): Promise<{ readonly fields: JsonObject; readonly file: StoredReference | null }> {
  let stored: StoreReferenceOutcome | null = null;
  const take = async (pump: FilePump): Promise<void> => {
    stored = await storeReference(ctx, tenantId, async (write) => {
      // Only here the caller has a place for files: others are bounded by their time alone.
      const limitAgain = allowLongBody(request);
      try {
        await pump(write);
      } finally {
        limitAgain();
      }
    });
    // Without a place nothing was read.
    if (stored.kind === 'busy') throw tooManyFiles();
  };
  try {
    const fields = await readForm(request, LIMITS, (name, pump) =>
      name === 'input_reference' ? take(pump) : null,
    );
    return { fields: nested(fields), file: fileOf(stored) };
  } catch (error) {
    await release(ctx, tenantId, stored);
    throw error;
  }
}

async function release(
  ctx: ApiContext,
  tenantId: string,
  stored: StoreReferenceOutcome | null,
): Promise<void> {
  if (stored?.kind === 'stored') await dropReference(ctx, tenantId, stored);
}

function fileOf(stored: StoreReferenceOutcome | null): StoredReference | null {
  switch (stored?.kind) {
    case undefined:
      return null;
    case 'stored':
      return stored;
    case 'unusable':
      throw new Problem('input_unusable', 'Correct the file, then send the same request again.', {
        errors: [{ path: '/input_reference', message: stored.message }],
      });
    case 'busy':
      throw tooManyFiles();
    case 'scan_failed':
      throw scanUnavailable();
  }
}

/** The object that the text of this field is, read like a JSON body. @throws Problem, its places told from the form */
function objectIn(name: string, text: string): JsonValue {
  try {
    return parseStrictJson(Buffer.from(text));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { code, detail, options } = error;
    const errors = (options.errors ?? []).map(({ path, message }) => ({ path: `/${name}${path}`, message }));
    throw new Problem(code, detail, { ...options, errors });
  }
}

/** @throws Problem for a name that is both a text and an object, and for an object that no JSON body may be */
function nested(fields: ReadonlyMap<string, string>): JsonObject {
  const members = new Map<string, JsonValue>();
  const objects = new Map<string, JsonObject>();
  for (const [name, value] of fields) {
    const [, outer, inner] = MEMBER.exec(name) ?? [];
    if (outer === undefined || inner === undefined) {
      // An object in a form is JSON text where its part says nothing else (OpenAPI 3.1, encoding objects).
      const isObject = name === 'input_reference' && value.startsWith('{');
      members.set(name, isObject ? objectIn(name, value) : value);
    } else if (fields.has(outer)) {
      throw invalidRequest([{ path: `/${outer}`, message: 'Give this field once.' }]);
    } else {
      const whole = { ...objects.get(outer), [inner]: value };
      objects.set(outer, whole);
      members.set(outer, whole);
    }
  }
  return Object.fromEntries(members);
}
