import { callbackPlaceholder, callbackSecretPlaceholder } from '../domain/callback-urls.ts';
import type { CallbackUrls } from '../domain/callback-urls.ts';
import type { FileLinks } from '../domain/file-links.ts';
import type { JsonObject } from '../domain/json.ts';
import type { Plan } from '../domain/plan.ts';
import type { Provider, ProviderCredential, SubmitRequest } from '../domain/provider.ts';
import { providerIdempotencyKey, submissionId } from '../domain/submission-id.ts';

/** After the deadline a provider may still fetch what it began with. */
const LINK_GRACE_MS = 3_600_000;
/** On a host that can not be. */
const INLINE_MARK = 'https://input.invalid/';

/** A stored file that a generation works from. */
export interface FrozenInput {
  readonly field: string;
  readonly linkVersion: number;
  /** Of the generation: the link's end follows from it alone, so that the bytes can be made again. */
  readonly deadlineAt: Date;
  readonly input: { readonly id: string; readonly tenantId: string };
}

export interface SubmitFacts {
  readonly generation: { readonly id: string; readonly input: JsonObject; readonly plan: Plan };
  readonly route: Plan['routes'][number];
  readonly ordinal: number;
  readonly inputs: readonly FrozenInput[];
}

export interface SubmitTools {
  readonly provider: Provider;
  readonly credential: ProviderCredential;
  readonly callbacks: Pick<CallbackUrls, 'current'>;
  /** null without PUBLIC_URL. */
  readonly links: FileLinks | null;
}

/** What one submission is made of; callback URL, its secret and inline files stand in it as marks. */
export interface FrozenSubmit {
  readonly submissionId: string;
  readonly idempotencyKey: string;
  readonly ordinal: number;
  readonly provider: string;
  readonly credential: string;
  readonly request: SubmitRequest;
  readonly callbackBase: string | null;
  readonly callbackKeyId: string | null;
  readonly estimatedCost: Plan['routes'][number]['estimatedCost'];
}

/**
 * The nth submission of a generation at one of its routes. The same id, key and bytes whenever it is made, as long as
 * KEYRING's current key and PUBLIC_URL are the same: a database restored from a dump may need it again.
 */
export function freezeSubmit(
  { provider, credential, callbacks, links }: SubmitTools,
  { generation, route, ordinal, inputs }: SubmitFacts,
): FrozenSubmit {
  const id = submissionId(generation.id, ordinal);
  const idempotencyKey = providerIdempotencyKey(id);
  const callback = route.callbacks && provider.capabilities.callbacks !== 'none' ? callbacks.current() : null;
  return {
    submissionId: id,
    idempotencyKey,
    ordinal,
    provider: route.provider,
    credential: credential.name,
    request: provider.buildSubmit({
      method: generation.plan.method,
      providerModel: route.providerModel,
      input: inputForProvider(
        provider.inlineInputsOnly === true ? null : links,
        generation.input,
        inputs,
        id,
      ),
      params: route.params,
      callbackUrl: callback === null ? null : callbackPlaceholder(id),
      ...(callback !== null && provider.ownCallbackSecrets === true
        ? { callbackSecret: callbackSecretPlaceholder(id) }
        : {}),
      idempotencyKey,
    }),
    callbackBase: callback?.base ?? null,
    callbackKeyId: callback?.keyId ?? null,
    estimatedCost: route.estimatedCost,
  };
}

/**
 * Stands in the frozen bytes for a file that goes inline, so that no row holds the file. Nobody can know it before the
 * submission is there, so no text of a tenant can hold it.
 */
export function inlineMark(submissionId: string, field: string): string {
  return `${INLINE_MARK}${submissionId}/${field}`;
}

/** Whether a file was given to the provider as a mark, and so can go in parts (inlineParts). */
export const isInlineMark = (url: string): boolean => url.startsWith(INLINE_MARK);

/**
 * What stands for parts of that file, for a provider that takes no `data:` URI but bare base64 and a media type. The URL is
 * that of the input that the provider was given; it has to be a mark (`inlineInputsOnly`, or isInlineMark).
 */
export function inlineParts(url: string): { readonly base64: string; readonly mediaType: string } {
  return { base64: `${url}#base64`, mediaType: `${url}#media-type` };
}

/**
 * The input as its provider is asked with it: each stored file by a link that we sign, or by a mark for its bytes where
 * no provider could reach us or this one takes no links. A file that was never stored (version 0.1) keeps the tenant's URL.
 */
function inputForProvider(
  links: FileLinks | null,
  input: JsonObject,
  stored: readonly FrozenInput[],
  submissionId: string,
): JsonObject {
  const files = stored.map(({ field, linkVersion, deadlineAt, input: { id: inputId, tenantId } }) => {
    const notAfter = new Date(deadlineAt.getTime() + LINK_GRACE_MS);
    const lifetimeMs = Math.max(notAfter.getTime() - Date.now(), 0);
    const link = links?.link({ tenantId, linkVersion }, { kind: 'input', inputId }, { lifetimeMs, notAfter });
    return [field, link?.url ?? inlineMark(submissionId, field)] as const;
  });
  return { ...input, ...Object.fromEntries(files) };
}
