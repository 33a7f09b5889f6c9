import { z } from 'zod';
import { countCallbackFailure } from '../../../metrics/callback-metrics.ts';
import { OTHER_PROVIDER, type CallbackFailure } from '../../../metrics/labels.ts';
import { receiveCallback } from '../../../services/receive-callback.ts';
import { readBody } from '../../body.ts';
import { Problem, type ProblemCode } from '../../problems.ts';
import { json, type ApiContext, type Call, type OpenRoute, type Operation, type Reply } from '../../route.ts';

const MAX_CALLBACK_BYTES = 256 * 1024;

const providerParam = z.string().meta({ description: 'Name of the provider.', example: 'infro' });
const tokenParam = z.string().meta({ description: 'From the callback URL that we gave the provider.' });

const PROBLEM_CODES: readonly ProblemCode[] = [
  'callback_unverified',
  'malformed_callback',
  'malformed_url',
  'incomplete_body',
  'not_found',
  'body_too_large',
  'unsupported_content_encoding',
  'callbacks_not_configured',
  'callback_keys_unavailable',
  'database_unavailable',
];

/** What is answered to a callback, and to a check of the URL where a provider makes one. */
const keptAnswer = z.object({});
const keptOrChallenge = z.object({
  challenge: z.string().optional().meta({
    description: 'The same as in the body, where a provider checks the URL with one before it calls.',
  }),
});

function describe(
  operationId: string,
  path: Record<string, z.ZodType>,
  answer: z.ZodType = keptAnswer,
): Operation {
  return {
    operationId,
    summary: 'Receive a provider’s callback',
    description:
      'For providers only. The raw bytes are verified and kept, then 200 is answered; the job’s fate is read from the provider, ' +
      'never believed from a callback.',
    tags: ['Callbacks'],
    requestParams: { path: z.object(path) },
    requestBody: {
      required: true,
      content: { '*/*': { schema: { type: 'string', description: 'The provider’s own format.' } } },
    },
    responses: { '200': { description: 'Kept.', content: { 'application/json': { schema: answer } } } },
  };
}

const BODY_FAILURES: Readonly<Partial<Record<ProblemCode, CallbackFailure>>> = {
  body_too_large: 'body_too_large',
  unsupported_content_encoding: 'encoded_body',
  incomplete_body: 'incomplete_body',
};

async function receive(ctx: ApiContext, call: Call, token: string | null): Promise<Reply> {
  const provider = call.params['provider']!;
  const rawBody = await readBody(call.request, MAX_CALLBACK_BYTES).catch((error: unknown) => {
    const reason = error instanceof Problem ? BODY_FAILURES[error.code] : undefined;
    countCallbackFailure(ctx.providers.has(provider) ? provider : OTHER_PROVIDER, reason ?? 'defect');
    throw error;
  });
  const received = await receiveCallback(ctx, {
    provider,
    token,
    headers: singleHeaders(call),
    rawBody,
  });
  switch (received.outcome) {
    case 'taken':
      return { ...json(200, {}), generation: received.generationId };
    case 'ignored':
      return json(200, {});
    case 'challenge':
      return { status: 200, contentType: 'application/json', body: received.answer };
    case 'unverified':
      throw new Problem(
        'callback_unverified',
        'Sign the raw body with the current secret and send it to the URL that we gave.',
      );
    case 'malformed':
      throw new Problem(
        'malformed_callback',
        'The callback is verified but is no event of this provider’s documented form.',
      );
    case 'unknown_provider':
      throw new Problem('not_found', 'Check the path; /docs lists every route.');
    case 'unavailable':
      throw new Problem(
        'callback_keys_unavailable',
        'The keys that prove this callback could not be fetched now: send it again.',
        { headers: { 'Retry-After': '10' } },
      );
    case 'not_configured':
      throw new Problem(
        'callbacks_not_configured',
        'The operator has to set this provider’s webhook secret.',
        { headers: { 'Retry-After': '60' } },
      );
  }
}

/** Header lines that came once; a repeated one is left out, so that a signature sent twice verifies nothing. */
function singleHeaders(call: Call): Record<string, string | undefined> {
  const lines = Object.entries(call.request.headersDistinct);
  return Object.fromEntries(
    lines.map(([name, values]) => [name, values?.length === 1 ? values[0] : undefined]),
  );
}

export const receiveCallbackRoute: OpenRoute = {
  method: 'post',
  path: '/callbacks/{provider}/{token}',
  auth: 'callback',
  problems: PROBLEM_CODES,
  describe: () =>
    describe('receiveCallback', { provider: providerParam, token: tokenParam }, keptOrChallenge),
  handle: (ctx) => (call) => receive(ctx, call, call.params['token']!),
};

/** For callbacks that are set once for a whole provider account; matched by the job id. */
export const receiveAccountCallbackRoute: OpenRoute = {
  method: 'post',
  path: '/callbacks/{provider}',
  auth: 'callback',
  problems: PROBLEM_CODES,
  describe: () => describe('receiveAccountCallback', { provider: providerParam }),
  handle: (ctx) => (call) => receive(ctx, call, null),
};
