import { z } from 'zod';
import { PROBLEMS, type Problem, type ProblemCode } from './problems.ts';

/** An error as clients of the OpenAI API read it (openai-node core/error.ts). */
export const videoErrorSchema = z
  .object({
    error: z
      .object({
        message: z.string().meta({ description: 'What happened and what to do next, safe to show.' }),
        type: z
          .enum([
            'invalid_request_error',
            'authentication_error',
            'permission_error',
            'insufficient_quota',
            'rate_limit_error',
            'server_error',
          ])
          .meta({ description: 'The kind of error, by its status.' }),
        param: z
          .string()
          .nullable()
          .meta({ description: 'The first field that is wrong; null where none is.' }),
        code: z
          .enum(Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]])
          .meta({ description: 'Branch on this; the same codes as everywhere in this API.' }),
      })
      .meta({ description: 'The error.' }),
  })
  .meta({
    id: 'VideoError',
    description:
      'An error. With the header `X-Should-Retry: false` where official clients would try again in vain.',
  });
type VideoError = z.infer<typeof videoErrorSchema>;

/**
 * Of the statuses that official clients send again by themselves (408, 409, 429, 5xx), these say the same again within
 * their few seconds.
 */
const NEVER_SOON: ReadonlySet<ProblemCode> = new Set([
  'unknown_account',
  'not_terminal',
  'already_terminal',
  'price_changed',
  'daily_credits_reached',
  'daily_cancels_reached',
  'model_paused',
]);

/** Whether official clients are told not to send the same again by themselves (`X-Should-Retry: false`). */
export function isNeverSoon(code: ProblemCode): boolean {
  return NEVER_SOON.has(code);
}

/** Whether a path is of the front door that answers in that shape. */
export function isVideosPath(path: string): boolean {
  return /^\/v1\/videos(?:\/|$)/.test(path);
}

function typeOf(status: number): VideoError['error']['type'] {
  switch (status) {
    case 401:
      return 'authentication_error';
    case 402:
      return 'insufficient_quota';
    case 403:
      return 'permission_error';
    case 429:
      return 'rate_limit_error';
    default:
      return status >= 500 ? 'server_error' : 'invalid_request_error';
  }
}

/** `/input_reference/image_url` as `input_reference.image_url`; '' is the whole body. */
function paramOf(path: string): string | null {
  const name = path.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
  return name === '' ? null : name;
}

/** A problem in that shape: the body as JSON text, and the headers that clients obey. */
export function videoErrorOf({ code, detail, options }: Problem): {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
} {
  const { errors = [], extensions = {} } = options;
  const wrong = errors.map(({ path, message }) => {
    const param = paramOf(path);
    return param === null ? message : `${param}: ${message}`;
  });
  const facts = Object.entries(extensions).map(([name, value]) => `${name} ${value}`);
  // "errors" and "instance" are members that this shape has not.
  const text = detail
    .replace(' listed in "errors"', '')
    .replace('what "errors" says', 'it')
    .replace('in "instance"', 'in X-Request-Id');
  const message = [text, ...wrong, ...(facts.length > 0 ? [`(${facts.join(', ')})`] : [])].join(' ');
  const [first] = errors;
  const error = {
    message,
    type: typeOf(PROBLEMS[code].status),
    param: first === undefined ? null : paramOf(first.path),
    code,
  };
  const body: VideoError = { error };
  return {
    body: JSON.stringify(body),
    headers: isNeverSoon(code) ? { 'X-Should-Retry': 'false' } : {},
  };
}
