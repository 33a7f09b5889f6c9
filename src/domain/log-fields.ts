/** What a value must look like to be written; anything else is written as `UNFIT`. */
type Shape = 'id' | 'word' | 'code' | 'words' | 'number' | 'codes' | 'error';

/**
 * Every field that a log line or a span may have. What is not here is not written: names and shapes are allowed, never
 * denied, so that a new field of secrets or of tenants' text can't slip through.
 */
export const LOG_FIELDS = {
  service: 'id',
  // Which one.
  request_id: 'id',
  trace_id: 'id',
  generation: 'id',
  submission: 'id',
  tenant: 'id',
  key: 'id',
  delivery: 'number',
  endpoint: 'id',
  output: 'number',
  // A request.
  method: 'id',
  route: 'code',
  status: 'number',
  bytes: 'number',
  // A step, a call, a pass.
  step: 'id',
  pass: 'id',
  examples: 'codes',
  attempt: 'number',
  ms: 'number',
  outcome: 'id',
  problem: 'words',
  reason: 'words',
  error: 'error',
  provider: 'id',
  provider_status: 'word',
  call: 'id',
  calls: 'number',
  call_ms: 'number',
  answer: 'id',
  recorded: 'id',
  observed: 'id',
  settled: 'id',
  state: 'id',
  result: 'id',
  captured: 'number',
  function: 'id',
  path: 'code',
  advice: 'words',
  durationSeconds: 'number',
  pricedSeconds: 'number',
  // A process.
  host: 'code',
  port: 'number',
  metricsPort: 'number',
  queue: 'id',
  queues: 'codes',
  signal: 'id',
  check: 'id',
  missingProviders: 'codes',
  droppedModels: 'codes',
  dropped: 'codes',
} as const satisfies Readonly<Record<string, Shape>>;

export type LogField = keyof typeof LOG_FIELDS;
/** The fields of one line; null and undefined are fine anywhere. */
export type LogFields = { readonly [F in LogField]?: unknown };

/** Stands in a line for a value that has not the shape of its field. */
export const UNFIT = '(unfit)';

const ID = /^[A-Za-z0-9_.:-]{1,128}$/;
/** A status string of a provider: too short and plain for a key that it might echo. */
const WORD = /^(?:[A-Za-z][A-Za-z_-]{0,31}|\d{1,3})$/;
const CODE = /^[A-Za-z0-9_.:/{}*@+-]{1,256}$/;
/** Fixed texts of ours; without `?`, `=`, `&` and `%`, which queries of URLs have. */
const WORDS = /^[A-Za-z0-9 _.,;:'"()/{}<>*+-]{1,256}$/;
const FRAME = /^at [^?&%]{1,256}$/;
const MOST = 64;

function fits(shape: Shape, value: unknown): boolean {
  switch (shape) {
    case 'id':
      return typeof value === 'string' && ID.test(value);
    case 'word':
      return typeof value === 'string' && WORD.test(value);
    case 'code':
      return typeof value === 'string' && CODE.test(value);
    case 'words':
      return typeof value === 'string' && WORDS.test(value);
    case 'number':
      return typeof value === 'number' && Number.isFinite(value);
    case 'codes':
      return Array.isArray(value) && value.length <= MOST && value.every((one) => fits('code', one));
    case 'error':
      return isSafeError(value);
  }
}

/** Name, code and frames, as `safeError` makes it; never a message. */
function isSafeError(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('name' in value) || !('at' in value)) return false;
  const { name, at, code = 'none' } = value as { name: unknown; at: unknown; code?: unknown };
  const frames: readonly unknown[] = Array.isArray(at) ? at : [UNFIT];
  return (
    Object.keys(value).every((key) => ['name', 'code', 'at'].includes(key)) &&
    fits('id', name) &&
    fits('id', code) &&
    frames.every((frame) => typeof frame === 'string' && FRAME.test(frame))
  );
}

/** What may be written of these fields; `dropped` has the names of those that are unknown or unfit. */
export function allowedFields(fields: Readonly<Record<string, unknown>>): {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly dropped: readonly string[];
} {
  const allowed: Record<string, unknown> = {};
  const dropped: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const known = Object.hasOwn(LOG_FIELDS, name);
    if (known && (value === null || fits(LOG_FIELDS[name as LogField], value))) {
      allowed[name] = value;
      continue;
    }
    if (known) allowed[name] = UNFIT;
    // A name can come from data as well.
    dropped.push(/^[A-Za-z_]{1,32}$/.test(name) ? name : UNFIT);
  }
  return { fields: allowed, dropped };
}
