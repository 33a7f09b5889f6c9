import { z } from 'zod';
import { isTerminal } from '../../../domain/generation.ts';
import { GENERATION_ID } from '../../../domain/ids.ts';
import type { GenerationView } from '../../../domain/generation-view.ts';
import { Problem } from '../../problems.ts';

/** The path parameter of every route of one generation. */
export const generationParams = z.object({
  id: z
    .string()
    .regex(GENERATION_ID)
    .meta({ description: 'Id of the generation.', example: 'gen_06f1m4k2h8v7x9q3w5y1z0a2b4' }),
});

/** One answer for malformed, unknown and another tenant's ids. */
export function generationNotFound(): Problem {
  return new Problem('generation_not_found', 'Check the id; GET /v1/generations lists yours.');
}

/** What can be deleted is what has ended: until then a run works with it. */
export function notTerminal(): Problem {
  return new Problem(
    'not_terminal',
    'Wait for its end, or cancel it first: POST /v1/generations/{id}/cancel.',
  );
}

/** When to look again: a twentieth of the expected duration, 1 to 15 s; nothing once it has ended. */
export function retryAfter(view: GenerationView): Record<string, string> {
  if (isTerminal(view.state)) return {};
  const seconds = Math.min(15, Math.max(1, Math.ceil(view.estimated_duration_seconds / 20)));
  return { 'Retry-After': String(seconds) };
}
