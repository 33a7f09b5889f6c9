import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';

/** A JSON object as it was stored; its shape is the business of whoever reads it. */
export const jsonObjectSchema = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);
