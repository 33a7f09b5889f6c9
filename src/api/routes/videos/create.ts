import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Catalogue } from '../../../domain/catalogue.ts';
import { accountSchema } from '../../../domain/generation-request.ts';
import { VIDEO_KEY_WINDOW_MS } from '../../../domain/video-key.ts';
import { shownDeadlines, shownVideoBody } from '../../../domain/video-shown-body.ts';
import { videoSchema } from '../../../domain/video-view.ts';
import { createVideo, type CreateVideoOutcome } from '../../../services/create-video.ts';
import { FORM_PROBLEMS, isForm } from '../../form.ts';
import { POLL_AFTER_MS, REPLAYED, RETRY_AFTER } from '../../headers.ts';
import { idempotencyKey, idempotencyKeyHeader } from '../../idempotency.ts';
import { VIDEO_LINKS } from '../../links.ts';
import { Problem } from '../../problems.ts';
import { json, type ApiContext, type Reply, type TenantCall, type TenantRoute } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { invalidRequest } from '../../validation.ts';
import { CREATION_PROBLEMS, creationProblem } from '../generations/creation-problem.ts';
import { readVideoForm } from './read-form.ts';

const FIRST_LOOK_SECONDS = 2;
const DEADLINE = /^[1-9]\d{0,8}$/;
const WINDOW_MINUTES = VIDEO_KEY_WINDOW_MS / 60_000;

export const createVideoRoute: TenantRoute = {
  method: 'post',
  path: '/v1/videos',
  auth: 'generations',
  errorShape: 'video',
  problems: [
    'idempotency_key_invalid',
    'video_not_found',
    'deadline_unusable',
    ...JSON_PROBLEMS,
    ...FORM_PROBLEMS,
    ...CREATION_PROBLEMS.filter((code) => code !== 'webhook_secret_missing' && code !== 'price_changed'),
  ],
  describe: (catalogue) => ({
    operationId: 'createVideo',
    summary: 'Create a video',
    description:
      'For clients of the OpenAI Videos API: the same as `POST /v1/generations` for a video model, as a form or as JSON. ' +
      `**Without an Idempotency-Key an equal request (same API key, account and fields, same bytes of a file) within ${WINDOW_MINUTES} ` +
      'minutes is the same video**, since those clients send again by themselves; not once that video has failed, its file was deleted, ' +
      'or a cancel was asked that is undecided. Send a key of your own to get two; it stays taken when its video is deleted (404 ' +
      '`video_not_found`). A `size` stands for the `resolution` and `aspect_ratio` of the model. There is no webhook ' +
      'in this shape: those of your endpoints are sent.',
    tags: ['Videos'],
    requestParams: { header: headersShown(catalogue) },
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: shownVideoBody(catalogue, false),
          example: {
            model: 'infro-video',
            prompt: 'A lighthouse in a storm, seen from the sea',
            seconds: '5',
          },
        },
        'multipart/form-data': {
          schema: shownVideoBody(catalogue, true),
          // A file's kind is told by its bytes, whatever its part says.
          encoding: { input_reference: { contentType: 'application/octet-stream' } },
        },
      },
    },
    responses: {
      '200': {
        description: 'Taken. A replay gives the same video, as it was then.',
        headers: {
          Location: { description: 'Path of the video.', schema: { type: 'string' } },
          'Retry-After': RETRY_AFTER,
          'OpenAI-Poll-After-Ms': POLL_AFTER_MS,
          'Idempotent-Replayed': REPLAYED,
        },
        content: { 'application/json': { schema: videoSchema } },
        links: VIDEO_LINKS,
      },
    },
  }),
  handle: (ctx) => (call) => create(ctx, call),
};

function headersShown(catalogue: Catalogue) {
  const deadlines = shownDeadlines(catalogue);
  const seconds = deadlines === null ? z.int() : z.int().min(deadlines.min).max(deadlines.max);
  const { shape } = idempotencyKeyHeader;
  return z.object({
    'Idempotency-Key': shape['Idempotency-Key'].optional().meta({
      description:
        'One new random value for each video; the same for a retry. Kept as long as its generation. Without it one is derived.',
      example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
    }),
    'Darkroom-Account': accountSchema.optional().meta({
      description: 'The credit account that pays; `default` without it.',
      example: 'default',
    }),
    'Darkroom-Deadline-Seconds': seconds.optional().meta({
      description:
        'Seconds after which an unfinished video expires; the model’s default without it. Outside of what its model allows: 422 `deadline_unusable`.',
    }),
  });
}

async function create(ctx: ApiContext, call: TenantCall): Promise<Reply> {
  const { tenantId, actor, request } = call;
  const askedAtMs = ctx.nowMs();
  const sent = request.headersDistinct['idempotency-key'];
  const key = sent === undefined ? null : idempotencyKey(request);
  const headers = { account: accountOf(request), deadlineSeconds: deadlineOf(request) };
  const body = isForm(request)
    ? await readVideoForm(ctx, { tenantId, request })
    : { fields: await readJsonObject(request), file: null };
  return replyTo(
    await createVideo(ctx, { tenantId, actor, askedAtMs, idempotencyKey: key, ...headers, ...body }),
  );
}

/** The account that the header names. @throws Problem 400 */
function accountOf(request: IncomingMessage): string {
  const [account = 'default', ...more] = request.headersDistinct['darkroom-account'] ?? [];
  if (more.length === 0 && accountSchema.safeParse(account).success) return account;
  throw invalidRequest([
    { path: '/Darkroom-Account', message: 'Send one name: 1 to 128 letters, digits or . _ : @ | -' },
  ]);
}

/** null = none was sent. @throws Problem 400 */
function deadlineOf(request: IncomingMessage): number | null {
  const [seconds, ...more] = request.headersDistinct['darkroom-deadline-seconds'] ?? [];
  if (seconds === undefined) return null;
  if (more.length === 0 && DEADLINE.test(seconds)) return Number(seconds);
  throw invalidRequest([
    { path: '/Darkroom-Deadline-Seconds', message: 'Send one whole number of seconds.' },
  ]);
}

/** No schema of a header can tell what the model of the body takes, so that this is not a breach of the document. */
const NOT_FOR_THIS_MODEL = '/deadline_seconds';

/** Fields of a generation in the words of a video. */
const NAMES: Readonly<Record<string, string>> = {
  '/input/prompt': '/prompt',
  '/input/duration_seconds': '/seconds',
  '/input/image_url': '/input_reference',
  '/account': '/Darkroom-Account',
  [NOT_FOR_THIS_MODEL]: '/Darkroom-Deadline-Seconds',
};

function inVideoWords(problem: Problem): Problem {
  const { detail, options } = problem;
  const wrong = options.errors ?? [];
  const isDeadline = wrong.length > 0 && wrong.every(({ path }) => path === NOT_FOR_THIS_MODEL);
  const code = isDeadline ? 'deadline_unusable' : problem.code;
  const errors = options.errors?.map(({ path, message }) => ({ path: NAMES[path] ?? path, message }));
  return new Problem(code, detail, { ...options, ...(errors === undefined ? {} : { errors }) });
}

function replyTo(outcome: CreateVideoOutcome): Reply {
  switch (outcome.outcome) {
    case 'created':
    case 'replayed': {
      const { video } = outcome;
      const reply = json(200, video, {
        Location: `/v1/videos/${video.id}`,
        'Retry-After': String(FIRST_LOOK_SECONDS),
        'OpenAI-Poll-After-Ms': String(FIRST_LOOK_SECONDS * 1_000),
        ...(outcome.outcome === 'replayed' ? { 'Idempotent-Replayed': 'true' } : {}),
      });
      return { ...reply, generation: video.id };
    }
    case 'unknown_model':
      throw new Problem('unknown_model', 'Use the id of a video model.', {
        errors: [{ path: '/model', message: outcome.message }],
      });
    case 'invalid':
      throw invalidRequest(outcome.errors);
    case 'unusable_file':
      throw new Problem('input_unusable', 'Correct the file, then send the same request again.', {
        errors: [{ path: '/input_reference', message: outcome.message }],
      });
    case 'deleted':
      throw new Problem(
        'video_not_found',
        'The video of this key was deleted: send a new key for a new one.',
      );
    case 'refused':
      throw inVideoWords(creationProblem(outcome.refusal));
  }
}
