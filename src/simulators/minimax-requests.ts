import { z } from 'zod';

const file = z.strictObject({ url: z.string().min(1) });
const item = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string().trim().min(1).max(7_000) }),
  z.strictObject({
    type: z.literal('image_url'),
    image_url: file,
    role: z.enum(['first_frame', 'last_frame', 'reference_image']).optional(),
  }),
  z.strictObject({ type: z.literal('video_url'), video_url: file, role: z.literal('reference_video') }),
  z.strictObject({ type: z.literal('audio_url'), audio_url: file, role: z.literal('reference_audio') }),
]);
type Item = z.infer<typeof item>;

const body = z.strictObject({
  model: z.enum(['MiniMax-H3', 'MiniMax-H3-Max']),
  content: z.array(item).min(1).max(16),
  resolution: z.enum(['480P', '768P', '2K']),
  duration: z.int().min(4).max(15),
  ratio: z.enum(['adaptive', '21:9', '16:9', '4:3', '1:1', '3:4', '9:16']).optional(),
  callback_url: z.url({ protocol: /^https?$/ }).optional(),
  aigc_watermark: z.boolean().optional(),
});
type Body = z.infer<typeof body>;

/** What a valid request asks for. */
export interface MinimaxRequest {
  readonly model: string;
  readonly prompt: string;
  readonly durationSeconds: number;
  readonly resolution: string;
  /** `adaptive` where the input's own shape decides. */
  readonly ratio: string;
  readonly callbackUrl: string | null;
  readonly images: number;
  /** The first frame; undefined without one. */
  readonly imageUrl: string | undefined;
}

const roleOf = (entry: Item): string | null =>
  entry.type === 'text' ? null : (entry.role ?? (entry.type === 'image_url' ? 'first_frame' : null));

/** What the create page forbids beyond the form of each member; null when all is right. */
function forbidden({ model, content, resolution, duration, ratio }: Body): string | null {
  const roles = content.map(roleOf).filter((role) => role !== null);
  const references = roles.filter((role) => role.startsWith('reference_')).length;
  if (content.length === roles.length)
    return 'content must include a non-empty text item (prompt is required)';
  if (references > 0 && references < roles.length) return 'frames and references cannot be mixed';
  for (const role of ['first_frame', 'last_frame']) {
    if (roles.filter((one) => one === role).length > 1) return `at most one ${role}`;
  }
  if (roles.length === 0 && (ratio === undefined || ratio === 'adaptive')) return 'ratio is required';
  const max = model === 'MiniMax-H3-Max';
  if (max && references > 0) return 'references are not supported by this model';
  if (max && duration < 5) return 'duration is not supported by this model';
  return resolution === (max ? '2K' : '480P') ? 'resolution is not supported by this model' : null;
}

/** Reads the body of a submit; `problem` names what is wrong. */
export function minimaxRequest(given: unknown): MinimaxRequest | { readonly problem: string } {
  const parsed = body.safeParse(given);
  if (!parsed.success) return { problem: parsed.error.issues[0]?.path.join('.') || 'body' };
  const problem = forbidden(parsed.data);
  if (problem !== null) return { problem };
  const { model, content, resolution, duration, ratio, callback_url: callbackUrl } = parsed.data;
  const images = content.filter((entry) => entry.type === 'image_url');
  const framed = content.some((entry) => roleOf(entry)?.endsWith('_frame') === true);
  return {
    model,
    prompt: content.flatMap((entry) => (entry.type === 'text' ? [entry.text] : [])).join(' '),
    durationSeconds: duration,
    resolution,
    ratio: framed ? 'adaptive' : (ratio ?? 'adaptive'),
    callbackUrl: callbackUrl ?? null,
    images: images.length,
    imageUrl: images.find((entry) => roleOf(entry) === 'first_frame')?.image_url.url,
  };
}
