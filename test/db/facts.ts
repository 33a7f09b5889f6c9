import type { Credits, Db } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';

/** What `readCredits` says of an account to which no credits came but these. */
export function balance(available: number, held: number, spent: number): Credits {
  return { available, held, spent, granted: available + held + spent };
}

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

/** The row of a submission; its cost as decimal text. */
export async function submissionOf(db: Db, generationId: string, ordinal = 1) {
  const row = await db.prisma.submission.findUniqueOrThrow({
    where: { id: submissionId(generationId, ordinal) },
  });
  return { ...row, costAmount: row.costAmount?.toFixed() ?? null };
}

export function generationOf(db: Db, generationId: string) {
  return db.prisma.generation.findUniqueOrThrow({ where: { id: generationId } });
}
