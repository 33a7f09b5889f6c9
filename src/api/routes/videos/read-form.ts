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
    // The caller is known, and has a place of its own for files.
    allowLongBody(request);
    stored = await storeReference(ctx, tenantId, pump);
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

/** The JSON object that a text is; null for any other text. */
function objectIn(text: string): JsonObject | null {
  if (!text.startsWith('{')) return null;
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return null;
  }
}

/** @throws Problem for a name that is both a text and an object */
function nested(fields: ReadonlyMap<string, string>): JsonObject {
  const members = new Map<string, JsonValue>();
  const objects = new Map<string, JsonObject>();
  for (const [name, value] of fields) {
    const [, outer, inner] = MEMBER.exec(name) ?? [];
    if (outer === undefined || inner === undefined) {
      // An object in a form is JSON text where its part says nothing else (OpenAPI 3.1, encoding objects).
      members.set(name, name === 'input_reference' ? (objectIn(value) ?? value) : value);
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
