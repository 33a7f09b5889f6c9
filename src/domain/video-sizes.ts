import type { InputSpec } from './input-fields.ts';

/** What a size stands for in the words of a model; a field that the model has not is left out. */
export interface SizeChoice {
  readonly resolution?: string;
  readonly aspect_ratio?: string;
}

/** Where a model takes no resolution, or no aspect ratio: what its sizes are told by. */
const USUAL_SHORT_SIDE = 720;
const USUAL_ASPECT = '16:9';

const SHORT_SIDES: Readonly<Record<string, number>> = {
  sd: 480,
  hd: 720,
  fhd: 1_080,
  '2k': 1_440,
  '4k': 2_160,
};

/** Pixels of the shorter side of a resolution like `720p` or `4k`; null for words that tell none. */
function shortSide(resolution: string): number | null {
  const lines = /^(\d{3,4})p$/i.exec(resolution)?.[1];
  return lines === undefined ? (SHORT_SIDES[resolution.toLowerCase()] ?? null) : Number(lines);
}

/** The nearest even number: encoders take no other. */
function even(pixels: number): number {
  return 2 * Math.round(pixels / 2);
}

/**
 * `WIDTHxHEIGHT` in pixels of a resolution (`720p`, `4k` or itself `1280x720`) and an aspect ratio (`16:9`); a missing
 * resolution counts as 720p, a missing ratio as 16:9. Null when there are none, or their words tell no size.
 */
export function sizeOf(resolution: string | undefined, aspectRatio: string | undefined): string | null {
  if (resolution === undefined && aspectRatio === undefined) return null;
  const exact = /^(\d{2,5})[x:](\d{2,5})$/.exec(resolution ?? '');
  if (exact !== null) return `${exact[1]}x${exact[2]}`;
  const short = resolution === undefined ? USUAL_SHORT_SIDE : shortSide(resolution);
  const [, width, height] = /^(\d{1,2}):(\d{1,2})$/.exec(aspectRatio ?? USUAL_ASPECT) ?? [];
  if (short === null || width === undefined || height === undefined) return null;
  const ratio = Number(width) / Number(height);
  return ratio >= 1 ? `${even(short * ratio)}x${short}` : `${short}x${even(short / ratio)}`;
}

/** Every size that a model can be asked for, and what each stands for, in the order of the model's own values. */
export function sizesOf(
  spec: Pick<InputSpec, 'resolution' | 'aspect_ratio'>,
): ReadonlyMap<string, SizeChoice> {
  const resolutions: (string | undefined)[] = [...(spec.resolution?.values ?? [undefined])];
  const ratios: (string | undefined)[] = [...(spec.aspect_ratio?.values ?? [undefined])];
  const sizes = new Map<string, SizeChoice>();
  for (const resolution of resolutions) {
    for (const ratio of ratios) {
      const size = sizeOf(resolution, ratio);
      if (size === null || sizes.has(size)) continue;
      sizes.set(size, {
        ...(resolution === undefined ? {} : { resolution }),
        ...(ratio === undefined ? {} : { aspect_ratio: ratio }),
      });
    }
  }
  return sizes;
}
