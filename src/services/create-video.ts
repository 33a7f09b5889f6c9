import { findLatestVideo } from '../db/read-videos.ts';
import type { JsonObject } from '../domain/json.ts';
import {
  DERIVED_VIDEO_ROUTE,
  ordinalOf,
  VIDEO_KEY_WINDOW_MS,
  VIDEO_ROUTE,
  videoDigest,
  videoKey,
} from '../domain/video-key.ts';
import {
  canonicalVideoRequest,
  readReference,
  readVideoWish,
  videoBodySchema,
  type StoredReference,
  type VideoReference,
  type VideoWish,
} from '../domain/video-request.ts';
import { videoFactsSchema, viewVideo, type VideoView } from '../domain/video-view.ts';
import type { ServiceContext } from './context.ts';
import { createGeneration, type CreateGenerationOutcome } from './create-generation.ts';
import { findRepeat } from './find-repeat.ts';
import { fieldErrors } from './issue-paths.ts';
import { findVideo } from './read-video.ts';
import { dropReference, storeReference } from './store-reference.ts';

export interface CreateVideoInput {
  readonly tenantId: string;
  /** Who asks, for the derived key: the same request by another API key is another one. */
  readonly actor: string;
  /** When the request began, by `nowMs`: what its body took does not make its twin older. */
  readonly askedAtMs: number;
  /** null = none was sent: one is derived from the request. */
  readonly idempotencyKey: string | null;
  readonly account: string;
  /** null = the model's default. */
  readonly deadlineSeconds: number | null;
  /** The body as JSON, or a form in the same words; checked here. */
  readonly fields: JsonObject;
  /** A file that came along; it is let go of when no generation comes of it. */
  readonly file: StoredReference | null;
}

type Refused = Exclude<CreateGenerationOutcome, { readonly outcome: 'created' | 'replayed' }>;

export type CreateVideoOutcome =
  | { readonly outcome: 'created' | 'replayed'; readonly video: VideoView }
  | { readonly outcome: 'refused'; readonly refusal: Refused }
  /** A repeat of a request whose video was deleted. */
  | { readonly outcome: 'deleted' }
  | Exclude<VideoWish, { readonly outcome: 'ok' }>
  | { readonly outcome: 'unusable_file'; readonly message: string };

/**
 * A generation asked for in the words of a video. Without a key, an equal request within the window is the same video, as
 * long as that one stands (`LatestVideo`). What was taken once is replayed, also when the catalogue has changed since.
 */
export async function createVideo(ctx: ServiceContext, input: CreateVideoInput): Promise<CreateVideoOutcome> {
  const stored: StoredReference[] = input.file === null ? [] : [input.file];
  const letGo = async () => {
    for (const reference of stored) await dropReference(ctx, input.tenantId, reference);
  };
  let outcome: CreateVideoOutcome;
  try {
    outcome = await create(ctx, input, stored);
  } catch (error) {
    // What went wrong first is told; a file that can't be let go of now leaves by its own time.
    await letGo().catch(() => undefined);
    throw error;
  }
  if (outcome.outcome !== 'created') await letGo();
  return outcome;
}

async function create(
  ctx: ServiceContext,
  input: CreateVideoInput,
  stored: StoredReference[],
): Promise<CreateVideoOutcome> {
  const { tenantId, account, deadlineSeconds } = input;
  const parsed = videoBodySchema.safeParse(input.fields, { reportInput: true });
  if (!parsed.success) return { outcome: 'invalid', errors: fieldErrors(parsed.error) };
  const named = readReference(parsed.data, input.file);
  if (named.outcome !== 'ok') return named;
  const { reference } = named;
  const request = canonicalVideoRequest(parsed.data, reference, { account, deadlineSeconds });
  const key = await keyOf(ctx, input, request);
  const wish = readVideoWish(ctx.catalogue, parsed.data, reference);
  // createGeneration looks before it refuses or fetches; so does this, before it refuses or stores.
  if (wish.outcome !== 'ok' || reference?.kind === 'bytes') {
    const repeat = await findRepeat(ctx, { tenantId, ...key, request });
    if (repeat !== null) return answerOf(ctx, tenantId, repeat);
    if (wish.outcome !== 'ok') return wish;
  }
  const image = await imageOf(ctx, tenantId, reference, stored);
  if (image !== null && 'outcome' in image) return image;
  const body: JsonObject = {
    model: wish.model,
    input: image === null ? wish.input : { ...wish.input, image_url: image.name },
    account,
    ...(deadlineSeconds === null ? {} : { deadline_seconds: deadlineSeconds }),
  };
  const made = await createGeneration(ctx, {
    tenantId,
    idempotencyKey: key.key,
    body,
    asked: { route: key.route, request },
  });
  return answerOf(ctx, tenantId, made);
}

async function answerOf(
  ctx: ServiceContext,
  tenantId: string,
  made: CreateGenerationOutcome,
): Promise<CreateVideoOutcome> {
  switch (made.outcome) {
    case 'created':
      return { outcome: 'created', video: videoOf(made.responseBody) };
    case 'replayed': {
      const video = await findVideo(ctx, { tenantId, id: made.generationId });
      return video === null
        ? { outcome: 'deleted' }
        : { outcome: 'replayed', video: videoOf(made.responseBody) };
    }
    default:
      return { outcome: 'refused', refusal: made };
  }
}

function videoOf(responseBody: string): VideoView {
  return viewVideo(videoFactsSchema.parse(JSON.parse(responseBody)));
}

/** What the image is to a generation, its bytes stored; null = there is none. */
async function imageOf(
  ctx: ServiceContext,
  tenantId: string,
  reference: VideoReference | null,
  stored: StoredReference[],
): Promise<
  null | { readonly name: string } | Exclude<CreateVideoOutcome, { readonly outcome: 'created' | 'replayed' }>
> {
  if (reference === null) return null;
  if (reference.kind === 'named') return { name: reference.name };
  if (reference.kind === 'stored') return { name: reference.inputId };
  const kept = await storeReference(ctx, tenantId, (write) => write(reference.bytes));
  switch (kept.kind) {
    case 'stored':
      stored.push(kept);
      return { name: kept.inputId };
    case 'unusable':
      return { outcome: 'unusable_file', message: kept.message };
    case 'busy':
      return { outcome: 'refused', refusal: { outcome: 'inputs_busy' } };
    case 'scan_failed':
      return { outcome: 'refused', refusal: { outcome: 'input_scan_failed' } };
  }
}

/**
 * The key that was sent, or a derived one: that of the newest equal request as long as it stands, else the next. Two that
 * look at once take the same next one, and the unique key lets one of them create.
 */
async function keyOf(
  ctx: Pick<ServiceContext, 'db' | 'nowMs'>,
  { tenantId, actor, idempotencyKey, askedAtMs }: CreateVideoInput,
  request: JsonObject,
): Promise<{ readonly route: string; readonly key: string }> {
  if (idempotencyKey !== null) return { route: VIDEO_ROUTE, key: idempotencyKey };
  const route = DERIVED_VIDEO_ROUTE;
  const digest = videoDigest(actor, request);
  const windowMs = VIDEO_KEY_WINDOW_MS + Math.max(0, ctx.nowMs() - askedAtMs);
  const latest = await findLatestVideo(ctx.db, { tenantId, route, digest, windowMs });
  if (latest === null) return { route, key: videoKey(digest, 1) };
  return { route, key: latest.stands ? latest.key : videoKey(digest, ordinalOf(latest.key) + 1) };
}
