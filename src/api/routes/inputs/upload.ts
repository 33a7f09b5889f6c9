import { inputPath, inputSchema } from '../../../domain/input-view.ts';
import {
  INPUT_MEDIA_TYPES,
  limitsInWords,
  MAX_INPUT_BYTES,
  UPLOAD_LIMITS,
} from '../../../domain/media-limits.ts';
import { receiveUpload, type ReceiveUploadOutcome } from '../../../services/receive-upload.ts';
import { assertPlain } from '../../body.ts';
import { streamBody } from '../../body-stream.ts';
import { allowLongBody } from '../../body-time.ts';
import { REPLAYED } from '../../headers.ts';
import { idempotencyKey, idempotencyKeyHeader } from '../../idempotency.ts';
import { linksTo } from '../../links.ts';
import { Problem } from '../../problems.ts';
import { json, type ApiContext, type Reply, type TenantCall, type TenantRoute } from '../../route.ts';
import { scanUnavailable, tooManyFiles } from './parts.ts';

const IDLE_MS = 15_000;
const BODY_LIMITS = { maxBytes: MAX_INPUT_BYTES, idleMs: IDLE_MS };
const ACCEPT_POST = { 'Accept-Post': INPUT_MEDIA_TYPES.join(', ') };

const binary = {
  type: 'string' as const,
  format: 'binary',
  minLength: 1,
  description: 'The bytes of the file, nothing else.',
};

export const uploadInputRoute: TenantRoute = {
  method: 'post',
  path: '/v1/inputs',
  auth: 'generations',
  problems: [
    'idempotency_key_missing',
    'idempotency_key_invalid',
    'empty_body',
    'incomplete_body',
    'body_too_large',
    'unsupported_media_type',
    'unsupported_content_encoding',
    'input_unusable',
    'input_not_found',
    'idempotency_key_reuse',
    'busy',
    'storage_unavailable',
    'scan_unavailable',
  ],
  describe: () => ({
    operationId: 'uploadInput',
    summary: 'Upload an input',
    description:
      'Takes an image, video or sound to work from; use the `id` of the answer in place of a URL, for example as `image_url`. ' +
      'The body is the file itself (no form, no base64), and its kind is told by its bytes, whatever Content-Type says. Taken: ' +
      `${limitsInWords(UPLOAD_LIMITS)}. The file is kept as long as outputs are, and longer while a generation works from it. ` +
      'The same key with the same bytes gives the same input; with other bytes it is 422 `idempotency_key_reuse`.',
    tags: ['Inputs'],
    requestParams: { header: idempotencyKeyHeader },
    requestBody: {
      required: true,
      content: Object.fromEntries(INPUT_MEDIA_TYPES.map((mediaType) => [mediaType, { schema: binary }])),
    },
    responses: {
      '201': {
        description: 'Stored.',
        headers: {
          Location: { description: 'Path of the input.', schema: { type: 'string' } },
          'Idempotent-Replayed': REPLAYED,
        },
        content: { 'application/json': { schema: inputSchema } },
        links: linksTo({ getInput: 'id' }),
      },
    },
  }),
  handle: (ctx) => (call) => upload(ctx, call),
};

async function upload(ctx: ApiContext, { request, tenantId }: TenantCall): Promise<Reply> {
  const key = idempotencyKey(request);
  assertPlain(request);
  if (/^multipart\//i.test(request.headers['content-type']?.trim() ?? '')) {
    throw new Problem(
      'unsupported_media_type',
      'Send the bytes of the file as the body, not a form: multipart is not taken.',
      { headers: ACCEPT_POST },
    );
  }
  const release = ctx.inputSlots.uploads.take(tenantId);
  if (release === null) throw tooManyFiles();
  let limitAgain = () => {};
  try {
    limitAgain = allowLongBody(request);
    const received = await receiveUpload(ctx, { tenantId, idempotencyKey: key }, (write) =>
      streamBody(request, BODY_LIMITS, write),
    );
    return replyTo(received);
  } finally {
    // A rest that still comes after an early answer has no place any more.
    limitAgain();
    release();
  }
}

function replyTo(received: ReceiveUploadOutcome): Reply {
  switch (received.outcome) {
    case 'created':
    case 'replayed':
      return json(201, received.input, {
        Location: inputPath(received.input.id),
        ...(received.outcome === 'replayed' ? { 'Idempotent-Replayed': 'true' } : {}),
      });
    case 'unusable':
      throw unusable(received);
    case 'key_reuse':
      throw new Problem(
        'idempotency_key_reuse',
        'Use a new Idempotency-Key for another file; this one stands for other bytes.',
      );
    case 'deleted':
      throw new Problem(
        'input_not_found',
        'The file of this Idempotency-Key was deleted: upload it with a new one.',
      );
    case 'scan_failed':
      throw scanUnavailable();
  }
}

function unusable({ kind, message }: Extract<ReceiveUploadOutcome, { outcome: 'unusable' }>): Problem {
  switch (kind) {
    case 'empty':
      return new Problem('empty_body', 'Send the bytes of the file as the body.');
    case 'type':
      return new Problem('unsupported_media_type', `The file can not be taken. ${message}`, {
        headers: ACCEPT_POST,
      });
    default:
      return new Problem('input_unusable', 'Correct the file as "errors" says, then upload it again.', {
        errors: [{ path: '', message }],
      });
  }
}
