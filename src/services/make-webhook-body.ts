import { findGeneration, keepWebhookBody } from '../db/index.ts';
import type { ClaimedDelivery, Db } from '../db/index.ts';
import type { FileLinks } from '../domain/file-links.ts';
import { viewGeneration } from '../domain/generation-view.ts';
import { generationWebhookBody } from '../domain/webhook-event.ts';
import { generationFacts } from './generation-facts.ts';

/** Longer than the whole schedule, so that the links of a late attempt still work. */
const LINK_MS = 24 * 3_600_000;

/**
 * The bytes of a delivery's event. They are made at the first attempt, from the rows as they are then, and kept: every
 * attempt at every receiver sends the same.
 * @throws the driver's error when the database is away
 * @returns null when the rows can't be shown
 */
export async function makeWebhookBody(
  ctx: { readonly db: Db; readonly links: FileLinks },
  delivery: Pick<ClaimedDelivery, 'body' | 'eventId' | 'type' | 'eventAt' | 'tenantId' | 'generationId'>,
): Promise<string | null> {
  const { body, eventId, type, eventAt, tenantId, generationId } = delivery;
  if (body !== null) return body;
  const row = generationId === null ? null : await findGeneration(ctx.db, tenantId, generationId);
  if (row === null) return null;
  let made: string;
  try {
    const view = viewGeneration(generationFacts(row, ctx.links, LINK_MS));
    made = generationWebhookBody({ id: eventId, type, timestamp: eventAt }, view);
  } catch {
    return null;
  }
  return keepWebhookBody(ctx.db, { eventId, body: made, erased: row.erasedAt !== null });
}
