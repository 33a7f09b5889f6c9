import { findFollowed, readEvents } from '../db/index.ts';
import type { FollowedGeneration } from '../db/index.ts';
import { viewEvent, viewSnapshot, type GenerationEventView } from '../domain/generation-event.ts';
import { GENERATION_ID } from '../domain/ids.ts';
import { createBell, type Bell } from './bell.ts';
import type { ServiceContext } from './context.ts';
import type { GenerationChanges } from './generation-changes.ts';

/** Events held in memory per follower, at most. */
const PAGE = 100;

export interface FollowGenerationInput {
  readonly tenantId: string;
  readonly id: string;
  /** The number of the last event that the follower has; null = none yet, `lost` = it names none of ours. */
  readonly after: number | 'lost' | null;
  /** Milliseconds without an event after which the follower is told that there is none. */
  readonly quietMs: number;
  /** Must abort when the answer is over, however it ends: it frees the place. */
  readonly signal: AbortSignal;
  /** Ends it: the process stops. */
  readonly draining: AbortSignal;
}

export type Followed =
  | {
      readonly kind: 'event';
      readonly seq: number;
      readonly type: string;
      readonly data: GenerationEventView;
    }
  /** Nothing happened for `quietMs`. */
  | { readonly kind: 'quiet' };

export type FollowOutcome =
  | { readonly outcome: 'not_found' }
  /** Too many follow already. */
  | { readonly outcome: 'busy' }
  /** The generation has ended, and the follower has its last event. */
  | { readonly outcome: 'over' }
  | { readonly outcome: 'following'; readonly events: AsyncIterable<Followed> };

type Following = Pick<ServiceContext, 'db'> & { readonly changes: GenerationChanges };

/**
 * The events of a generation, read only as fast as they are taken: each once, in order, until the terminal one. Whoever
 * lost its place (a number that is not ours, or pruned) first gets a `snapshot`, which stands for all events up to its
 * number; the terminal event is always told as itself.
 */
export async function followGeneration(ctx: Following, input: FollowGenerationInput): Promise<FollowOutcome> {
  const { tenantId, id, after, signal } = input;
  if (!GENERATION_ID.test(id)) return { outcome: 'not_found' };
  const now = await findFollowed(ctx.db, tenantId, id);
  if (now === null) return { outcome: 'not_found' };
  if (now.ended && after === now.lastSeq) return { outcome: 'over' };
  const bell = createBell([signal, input.draining]);
  const unfollow = now.ended
    ? () => {}
    : ctx.changes.follow({ generationId: id, tenantId, onChange: bell.ring });
  const leave = (): void => {
    unfollow?.();
    bell.release();
  };
  // Nobody may ever ask for the first event, so leaving does not depend on it.
  if (unfollow === null || signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  if (unfollow === null) return { outcome: 'busy' };
  return { outcome: 'following', events: eventsFrom(ctx, input, now, bell) };
}

async function* eventsFrom(
  ctx: Following,
  { tenantId, id, quietMs, after: asked }: FollowGenerationInput,
  now: FollowedGeneration,
  bell: Bell,
): AsyncGenerator<Followed, void> {
  const start = placeOf(asked, now);
  if (start.lost) yield { kind: 'event', seq: start.after, type: 'snapshot', data: viewSnapshot(id, now) };
  let { after } = start;
  while (!bell.stopped()) {
    const page = await readEvents(ctx.db, { tenantId, generationId: id, after, limit: PAGE });
    for (const event of page) {
      yield { kind: 'event', seq: event.seq, type: event.type, data: viewEvent(id, event) };
      if (event.type === 'terminal' || bell.stopped()) return;
      after = event.seq;
    }
    if (page.length === PAGE) continue;
    if (now.ended) return;
    while (!(await bell.heard(quietMs)) && !bell.stopped()) yield { kind: 'quiet' };
  }
}

/** After which event it goes on, and whether that is not where the follower was. */
function placeOf(
  asked: FollowGenerationInput['after'],
  { lastSeq, ended, pruned }: FollowedGeneration,
): { readonly after: number; readonly lost: boolean } {
  if (asked === null) return { after: 0, lost: false };
  const beforeEnd = ended ? lastSeq - 1 : lastSeq;
  const lost = asked === 'lost' || asked > lastSeq || (pruned && asked < beforeEnd);
  return lost ? { after: beforeEnd, lost } : { after: asked, lost };
}
