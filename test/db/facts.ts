import type { Db } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';

/** What stands for one generation, in one flat object. */
export async function facts(db: Db, generationId: string) {
  const row = await db.prisma.generation.findUniqueOrThrow({
    where: { id: generationId },
    include: { hold: true },
  });
  const events = await db.prisma.generationEvent.findMany({
    where: { generationId },
    orderBy: { seq: 'asc' },
  });
  return {
    state: row.state,
    stage: row.stage,
    delivery: row.delivery,
    error: row.errorCode,
    cancel: row.cancelOutcome,
    hold: row.hold?.state,
    captured: Number(row.hold?.captured ?? 0),
    terminalEvents: events.filter(({ type }) => type === 'terminal').length,
    events: events.map(({ type }) => type),
  };
}

export function submissionOf(db: Db, generationId: string, ordinal = 1) {
  return db.prisma.submission.findUniqueOrThrow({ where: { id: submissionId(generationId, ordinal) } });
}

export function generationOf(db: Db, generationId: string) {
  return db.prisma.generation.findUniqueOrThrow({ where: { id: generationId } });
}
