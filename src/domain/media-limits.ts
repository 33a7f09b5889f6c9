/** What a file was found to be; sizes in pixels, null where the kind has none or it is not known. */
export interface MediaFacts {
  readonly mediaType: string;
  readonly bytes: number;
  readonly width: number | null;
  readonly height: number | null;
}

/** What an input file may be. Sides and pixels bound images only. */
export interface MediaLimits {
  readonly mediaTypes: readonly string[];
  readonly maxBytes: number;
  /** Pixels of the shorter and of the longer side. */
  readonly minSide: number;
  readonly maxSide: number;
}

/** Every kind of file that can be an input; recognised by its bytes. */
export const INPUT_MEDIA_TYPES = [
  'image/png',
  'image/jpeg',
  'image/webp',
  'image/gif',
  'video/mp4',
  'video/webm',
  'audio/wav',
  'audio/mpeg',
] as const;

const MIB = 1024 * 1024;
export const MAX_INPUT_BYTES = 64 * MIB;
export const MAX_IMAGE_SIDE = 8_192;
export const MIN_IMAGE_SIDE = 16;
/** A few bytes can claim to be a huge picture, whose pixels fill the memory of whoever decodes it. */
export const MAX_IMAGE_PIXELS = 40_000_000;

/** What `POST /v1/inputs` takes; the field that it is used in may take less. */
export const UPLOAD_LIMITS: MediaLimits = {
  mediaTypes: INPUT_MEDIA_TYPES,
  maxBytes: MAX_INPUT_BYTES,
  minSide: MIN_IMAGE_SIDE,
  maxSide: MAX_IMAGE_SIDE,
};

/** Why a file does not fit, by what is wrong, with what to do; null = it fits. */
export function mediaProblem(
  { mediaType, bytes, width, height }: MediaFacts,
  limits: MediaLimits,
): { readonly kind: 'type' | 'size' | 'dimensions'; readonly message: string } | null {
  const { mediaTypes, maxBytes, minSide, maxSide } = limits;
  if (!mediaTypes.includes(mediaType)) {
    return { kind: 'type', message: `Is ${mediaType}: use one of ${mediaTypes.join(', ')}.` };
  }
  if (bytes > maxBytes) return { kind: 'size', message: sizeAdvice(limits) };
  if (!mediaType.startsWith('image/')) return null;
  if (width === null || height === null) {
    return { kind: 'dimensions', message: 'Does not say how many pixels it has: save it anew.' };
  }
  if (Math.min(width, height) < minSide || Math.max(width, height) > maxSide) {
    return {
      kind: 'dimensions',
      message: `Is ${width} × ${height} pixels: each side must have ${minSide} to ${maxSide}.`,
    };
  }
  if (width * height > MAX_IMAGE_PIXELS) {
    return {
      kind: 'dimensions',
      message: `Is ${width} × ${height} pixels: use at most ${MAX_IMAGE_PIXELS / 1_000_000} megapixels in all.`,
    };
  }
  return null;
}

/** What to do about a file that is too large. */
export function sizeAdvice({ maxBytes }: Pick<MediaLimits, 'maxBytes'>): string {
  return `Is too large: use at most ${maxBytes} bytes.`;
}

/** The limits in one line, for people. */
export function limitsInWords({ mediaTypes, maxBytes, minSide, maxSide }: MediaLimits): string {
  const size = maxBytes % MIB === 0 ? `${maxBytes / MIB} MiB` : `${maxBytes} bytes`;
  const kinds = mediaTypes.join(', ');
  return `${kinds}; at most ${size}; images of ${minSide} to ${maxSide} pixels a side, at most ${MAX_IMAGE_PIXELS / 1_000_000} megapixels`;
}
