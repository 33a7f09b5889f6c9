/** Which members a model takes for the shape of what it makes. */
export type BflForm = 'sized' | 'shaped' | 'video';

/** One endpoint below `/v1/`. */
export interface BflModel {
  readonly form: BflForm;
  /** Credits of the first megapixel that it makes, and of each further one, made or given; of a video those of a second. */
  readonly credits: readonly [first: number, further: number];
}

/**
 * What is served, with its prices (docs.bfl.ai/quick_start/pricing; black-forest-labs/skills, bfl-api): of an image
 * first + (made − 1) × further + given × further, in whole megapixels. FLUX.1 has one price for an image.
 */
const MODELS: Readonly<Record<string, BflModel>> = {
  'flux-2-pro': { form: 'sized', credits: [3, 1.5] },
  'flux-2-max': { form: 'sized', credits: [7, 3] },
  'flux-2-flex': { form: 'sized', credits: [5, 5] },
  'flux-2-klein-4b': { form: 'sized', credits: [1.4, 0.1] },
  'flux-2-klein-9b': { form: 'sized', credits: [1.5, 0.2] },
  'flux-pro-1.1': { form: 'sized', credits: [4, 0] },
  'flux-pro-1.1-ultra': { form: 'shaped', credits: [6, 0] },
  'flux-kontext-pro': { form: 'shaped', credits: [4, 0] },
  'flux-kontext-max': { form: 'shaped', credits: [8, 0] },
  'flux-3-video': { form: 'video', credits: [17, 0] },
};
/** What fhd costs of hd. */
const FHD_FACTOR = 1.7;
const MEGAPIXEL = 1024 * 1024;

/** The model that this name has; undefined when none has. */
export const bflModel = (name: string): BflModel | undefined =>
  Object.hasOwn(MODELS, name) ? MODELS[name] : undefined;

/** As an amount of credits has it, without the noise of its floating point. */
const rounded = (credits: number): number => Math.round(credits * 100) / 100;

/** Whole megapixels, upwards. */
export const megapixels = (pixels: number): number => Math.ceil(pixels / MEGAPIXEL);

/** What an image costs, in credits; null where it is not known how large the files were that it was made from. */
export function imageCredits(
  { credits: [first, further] }: BflModel,
  madeMp: number,
  givenMp: number | null,
): number | null {
  if (further === 0) return first;
  return givenMp === null ? null : rounded(first + (madeMp - 1 + givenMp) * further);
}

/** What a video costs, in credits. */
export function videoCredits({ credits: [second] }: BflModel, seconds: number, isFhd: boolean): number {
  return rounded(second * seconds * (isFhd ? FHD_FACTOR : 1));
}

/** The pixels of a file that stands in the request as base64; null for a link, and for what is no PNG. */
export function inlinePixels(input: string): number | null {
  const head = Buffer.from(input.replace(/^data:[^,]*,/, '').slice(0, 64), 'base64');
  const isPng = head.length >= 24 && head.subarray(1, 4).toString('latin1') === 'PNG';
  return isPng ? head.readUInt32BE(16) * head.readUInt32BE(20) : null;
}
