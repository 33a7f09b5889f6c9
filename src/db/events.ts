import type { Db } from './client.ts';
import type { JsonObject } from '../domain/json.ts';

/** One event of a generation as its followers see it. */
export interface GenerationEvent {
  readonly seq: number;
  readonly type: 'created' | 'stage' | 'progress' | 'cancellation' | 'terminal';
  readonly data: JsonObject;
  readonly createdAt: Date;
}

/** Events after this number, oldest first, at most `limit`; empty for another tenant's id as for an unknown one. */
export async function readEvents(
  db: Db,
  params: {
    readonly tenantId: string;
    readonly generationId: string;
    readonly after: number;
    readonly limit: number;
  },
): Promise<GenerationEvent[]> {
  const rows = await db.prisma.generationEvent.findMany({
    where: {
      generationId: params.generationId,
      seq: { gt: params.after },
      generation: { tenantId: params.tenantId },
    },
    orderBy: { seq: 'asc' },
    take: params.limit,
  });
  return rows.map(({ seq, type, data, createdAt }) => ({
    seq,
    type: type as GenerationEvent['type'],
    data: data as JsonObject,
    createdAt,
  }));
}

/** What a follower needs to know of the generation before its events, and what tells those that lost their place. */
export interface FollowedGeneration {
  /** The terminal event is the last, so an ended generation gets no more. */
  readonly lastSeq: number;
  readonly ended: boolean;
  /** All but the terminal event were pruned. */
  readonly pruned: boolean;
  readonly state: string;
  readonly stage: string;
  readonly progress: number | null;
  readonly delivery: string;
  readonly errorCode: string | null;
  readonly cancelOutcome: string | null;
  readonly updatedAt: Date;
}

/** Null for another tenant's id as for an unknown one. */
export async function findFollowed(db: Db, tenantId: string, id: string): Promise<FollowedGeneration | null> {
  const row = await db.prisma.generation.findFirst({
    where: { id, tenantId },
    select: {
      eventSeq: true,
      completedAt: true,
      eventsPrunedAt: true,
      state: true,
      stage: true,
      progress: true,
      delivery: true,
      errorCode: true,
      cancelOutcome: true,
      updatedAt: true,
    },
  });
  if (row === null) return null;
  const { eventSeq, completedAt, eventsPrunedAt, ...facts } = row;
  return { ...facts, lastSeq: eventSeq, ended: completedAt !== null, pruned: eventsPrunedAt !== null };
}

/** The last event number of each of these generations, in one statement. */
export async function readEventNumbers(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await db.prisma.generation.findMany({
    where: { id: { in: [...ids] } },
    select: { id: true, eventSeq: true },
  });
  return new Map(rows.map(({ id, eventSeq }) => [id, eventSeq]));
}
