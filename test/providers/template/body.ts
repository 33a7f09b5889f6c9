import { canonicalJson } from '../../../src/domain/json.ts';
import type { SubmitJob, SubmitRequest } from '../../../src/domain/provider.ts';
import { modelInput } from '../../../src/providers/model-fields.ts';
import { methodsOf, withParams, type MethodFields } from '../../../src/providers/submit-body.ts';

// [change] its methods, and its own name for each of our input fields; by a text or a table of values where model-fields.ts has it
const FIELDS = {
  'text-to-video': { prompt: 'prompt', duration_seconds: 'duration' },
} as const satisfies MethodFields;

/** What Tidewater offers; which values a model takes is its own list, so the catalogue names them. */
export const TIDEWATER_METHODS = methodsOf(FIELDS);

/**
 * `POST /v1/jobs`. A route's `params` add what only its model has; their `$fields` write a field in another way.
 * @throws on a method or field that Tidewater does not take, and on params that set what the adapter or the input has set
 */
// [change] path and body of a submit
export function buildTidewaterSubmit(job: SubmitJob): SubmitRequest {
  const { method, providerModel } = job;
  const names = Object.hasOwn(FIELDS, method) ? FIELDS[method as keyof typeof FIELDS] : {};
  const members = modelInput('tidewater', job, TIDEWATER_METHODS, names);
  // <signed, unsigned>
  // [change] what tells it where to call back; `callbackSecret` beside it where each submit names its own (bfl-body.ts)
  const webhook = job.callbackUrl === null ? {} : { webhook_url: job.callbackUrl };
  const own = { model: providerModel, ...webhook };
  // </signed, unsigned>
  // [none] const own = { model: providerModel };
  return {
    method: 'POST',
    path: '/v1/jobs',
    contentType: 'application/json',
    body: canonicalJson(withParams('tidewater', own, members)),
  };
}
