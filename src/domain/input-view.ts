import { z } from 'zod';

const time = z.iso.datetime({ precision: 3 });

/** A stored input as its tenant sees it. */
export const inputSchema = z
  .object({
    id: z.string().meta({
      description: 'Use it in place of a URL, for example as `image_url`.',
      example: 'inp_06f1m4k2h8v7x9q3w5y1z0a2b4',
    }),
    object: z.literal('input').meta({ description: 'Always `input`.' }),
    media_type: z.string().meta({ description: 'By the bytes, whatever was said.', example: 'image/png' }),
    bytes: z.int().min(1).meta({ description: 'Size of the file.' }),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .meta({ description: 'Of the stored bytes, in hex.' }),
    width: z.int().nullable().meta({ description: 'Pixels; null for sounds.' }),
    height: z.int().nullable().meta({ description: 'Pixels; null for sounds.' }),
    duration_seconds: z
      .number()
      .nullable()
      .meta({ description: 'Null for images, and where the file does not say.' }),
    created_at: time.meta({ description: 'When it came.', example: '2026-11-29T12:00:00.000Z' }),
    expires_at: time.meta({
      description: 'When the file is deleted; later once a generation works from it.',
      example: '2026-12-29T12:00:00.000Z',
    }),
  })
  .meta({ id: 'Input' });
export type InputView = z.infer<typeof inputSchema>;

/** What a view is made of: the row of an input. */
interface InputFacts {
  readonly id: string;
  readonly mediaType: string;
  readonly bytes: bigint;
  readonly sha256: Uint8Array;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationSeconds: number | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export function viewInput(facts: InputFacts): InputView {
  return {
    id: facts.id,
    object: 'input',
    media_type: facts.mediaType,
    bytes: Number(facts.bytes),
    sha256: Buffer.from(facts.sha256).toString('hex'),
    width: facts.width,
    height: facts.height,
    duration_seconds: facts.durationSeconds,
    created_at: facts.createdAt.toISOString(),
    expires_at: facts.expiresAt.toISOString(),
  };
}

/** Where it is read. */
export function inputPath(id: string): string {
  return `/v1/inputs/${id}`;
}
