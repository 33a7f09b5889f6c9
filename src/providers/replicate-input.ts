import type { InputField, Method } from '../domain/input-fields.ts';
import { canonicalJson, type JsonObject } from '../domain/json.ts';
import type { SubmitJob, SubmitRequest } from '../domain/provider.ts';
import { modelInput, type FieldRules } from './model-fields.ts';

const VIDEO = [
  'prompt',
  'negative_prompt',
  'duration_seconds',
  'resolution',
  'aspect_ratio',
  'mode',
  'audio',
  'seed',
] as const satisfies readonly InputField[];

/** Every model has its own input schema; these are the fields that its usual names exist for. */
export const REPLICATE_METHODS: Readonly<Partial<Record<Method, readonly InputField[]>>> = {
  'text-to-video': VIDEO,
  'image-to-video': ['image_url', ...VIDEO],
  'text-to-image': ['prompt', 'negative_prompt', 'resolution', 'aspect_ratio', 'count', 'seed'],
  'text-to-speech': ['text', 'voice'],
};

/** The usual names; a route of a model with other ones tells them in `params.$fields` (model-fields.ts). */
const FIELDS: FieldRules = {
  prompt: 'prompt',
  negative_prompt: 'negative_prompt',
  text: 'text',
  image_url: 'image',
  duration_seconds: 'duration',
  resolution: 'resolution',
  aspect_ratio: 'aspect_ratio',
  mode: 'mode',
  voice: 'voice',
  audio: 'generate_audio',
  count: 'num_outputs',
  seed: 'seed',
};

const NAME = '[A-Za-z0-9][A-Za-z0-9._-]{0,99}';
const OFFICIAL = new RegExp(`^(?!deployments/)${NAME}/${NAME}$`);
const DEPLOYMENT = new RegExp(`^deployments/(${NAME}/${NAME})$`);
const VERSION = new RegExp(`^(?:${NAME}/${NAME}:)?([0-9a-f]{64})$`);

/** Where a model is asked for: `owner/name` (official), `owner/name:version` or a version, `deployments/owner/name`. */
function endpointOf(providerModel: string): { readonly path: string; readonly members: JsonObject } {
  const [, deployment] = DEPLOYMENT.exec(providerModel) ?? [];
  if (deployment !== undefined) return { path: `/v1/deployments/${deployment}/predictions`, members: {} };
  const [, version] = VERSION.exec(providerModel) ?? [];
  if (version !== undefined) return { path: '/v1/predictions', members: { version } };
  if (OFFICIAL.test(providerModel)) return { path: `/v1/models/${providerModel}/predictions`, members: {} };
  throw new Error(
    'Replicate: providerModel must be owner/name, owner/name:version, a version of 64 hex digits, or deployments/owner/name',
  );
}

/** The frozen bytes of a submit; `params` of the route go into `input`. Only the end of a job is announced. */
export function buildReplicateSubmit(job: SubmitJob): SubmitRequest {
  const { path, members } = endpointOf(job.providerModel);
  const input = modelInput('Replicate', job, REPLICATE_METHODS, FIELDS);
  const webhook =
    job.callbackUrl === null ? {} : { webhook: job.callbackUrl, webhook_events_filter: ['completed'] };
  return {
    method: 'POST',
    path,
    contentType: 'application/json',
    body: canonicalJson({ ...members, input, ...webhook }),
  };
}
