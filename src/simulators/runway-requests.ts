import { z } from 'zod';
import type { JobRequest } from './jobs.ts';

const DEFAULT_DURATION_SECONDS = 5;

/** What the four endpoints have in common; the members of single models are let through. */
const common = z.looseObject({
  model: z.string().min(1),
  promptText: z.string().min(1).max(5_000).optional(),
  promptImage: z.union([z.string().min(1), z.array(z.looseObject({ uri: z.string() })).min(1)]).optional(),
  ratio: z.string().min(1).optional(),
  duration: z.int().min(2).max(15).optional(),
  audio: z.boolean().optional(),
  seed: z.int().min(0).max(4_294_967_295).optional(),
  outputCount: z.int().min(1).max(10).optional(),
  voice: z.looseObject({ type: z.literal(['runway-preset', 'reference-audio']) }).optional(),
});

const ENDPOINTS: Readonly<
  Record<string, { readonly media: JobRequest['media']; readonly required: readonly string[] }>
> = {
  text_to_video: { media: 'video', required: ['promptText'] },
  image_to_video: { media: 'video', required: ['promptImage'] },
  text_to_image: { media: 'image', required: ['promptText'] },
  text_to_speech: { media: 'audio', required: ['promptText'] },
};

/** What these models can't do without, by the SDK's types. */
const REQUIRED_BY_MODEL: Readonly<Record<string, readonly string[]>> = {
  'gen4.5': ['duration', 'ratio', 'promptText'],
  gen4_turbo: ['promptImage', 'ratio'],
  'veo3.1': ['ratio'],
  'veo3.1_fast': ['ratio'],
  gen4_image: ['ratio'],
  eleven_multilingual_v2: ['voice'],
  eleven_v3: ['voice'],
};

/** Reads the body of a submit; `problem` names the first member that is missing or wrong. */
export function runwayRequest(
  endpoint: string,
  body: unknown,
):
  | Pick<JobRequest, 'model' | 'prompt' | 'media' | 'outputCount' | 'durationSeconds' | 'inputUrl'>
  | { readonly problem: string } {
  const { media = 'video', required = [] } = ENDPOINTS[endpoint] ?? {};
  const parsed = common.safeParse(body);
  if (!parsed.success)
    return { problem: `${parsed.error.issues[0]?.path.join('.') || 'body'}: invalid input` };
  const request = parsed.data;
  const { model, promptText = '', promptImage, duration, outputCount, ratio } = request;
  const byModel = REQUIRED_BY_MODEL[model] ?? [];
  const missing = [...required, ...byModel].find((name) => request[name] === undefined);
  if (missing !== undefined) return { problem: `${missing}: expected a value, received undefined` };
  if (byModel.includes('ratio') && !/^\d{3,4}:\d{3,4}$/.test(ratio ?? '')) {
    return { problem: 'ratio: expected a size in pixels' };
  }
  return {
    model,
    prompt: promptText,
    media,
    outputCount: outputCount ?? 1,
    durationSeconds: duration ?? DEFAULT_DURATION_SECONDS,
    inputUrl: typeof promptImage === 'object' ? promptImage[0]?.uri : promptImage,
  };
}
