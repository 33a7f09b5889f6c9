/** The place behind one row of a list by (created_at, id). */
interface Place<Id extends string | bigint> {
  readonly createdAt: Date;
  readonly id: Id;
}

/** What Prisma asks for to go on behind this row of a list that is newest first; from its start without one. */
export function olderThan<Id extends string | bigint>(after: Place<Id> | undefined) {
  if (after === undefined) return {};
  const { createdAt, id } = after;
  return {
    // Says nothing new, but is what an index can begin at.
    createdAt: { lte: createdAt },
    OR: [{ createdAt: { lt: createdAt } }, { createdAt, id: { lt: id } }],
  };
}
