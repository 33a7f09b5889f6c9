import { findInputs, type NewGeneration } from '../db/index.ts';
import { INPUT_ID } from '../domain/ids.ts';
import type { NamedFile } from '../domain/input-fields.ts';
import { mediaProblem, type MediaLimits } from '../domain/media-limits.ts';
import type { ServiceContext } from './context.ts';
import { fetchInput } from './fetch-input.ts';

/** A file that can't be worked from: `field` of the input, and what to do about it. */
export type InputRefusal =
  | { readonly outcome: 'unusable_input'; readonly field: string; readonly message: string }
  | { readonly outcome: 'unknown_input'; readonly field: string }
  | { readonly outcome: 'inputs_busy' | 'input_scan_failed' };

/**
 * Turns what a tenant named into stored inputs: an upload is looked up, a URL fetched now. Each is checked by the limits
 * of its field.
 */
export async function prepareInputs(
  ctx: Parameters<typeof fetchInput>[0],
  tenantId: string,
  files: readonly NamedFile[],
): Promise<{ readonly outcome: 'ready'; readonly inputs: NewGeneration['inputs'] } | InputRefusal> {
  const inputs: { field: string; inputId: string }[] = [];
  for (const { field, value, limits } of files) {
    const found = INPUT_ID.test(value)
      ? await findUpload(ctx, tenantId, value, limits)
      : await fetchInput(ctx, { tenantId, url: value, limits });
    switch (found.outcome) {
      case 'found':
      case 'fetched':
        inputs.push({ field, inputId: found.inputId });
        break;
      case 'unknown':
        return { outcome: 'unknown_input', field };
      case 'unusable':
        return { outcome: 'unusable_input', field, message: found.message };
      case 'busy':
        return { outcome: 'inputs_busy' };
      case 'scan_failed':
        return { outcome: 'input_scan_failed' };
    }
  }
  return { outcome: 'ready', inputs };
}

async function findUpload(
  ctx: Pick<ServiceContext, 'db'>,
  tenantId: string,
  inputId: string,
  limits: MediaLimits,
): Promise<
  | { readonly outcome: 'found'; readonly inputId: string }
  | { readonly outcome: 'unknown' }
  | { readonly outcome: 'unusable'; readonly message: string }
> {
  const [row] = await findInputs(ctx.db, tenantId, [inputId]);
  if (row === undefined) return { outcome: 'unknown' };
  const problem = mediaProblem({ ...row, bytes: Number(row.bytes) }, limits);
  return problem === null ? { outcome: 'found', inputId } : { outcome: 'unusable', message: problem.message };
}
