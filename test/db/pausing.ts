import type { TestDb } from './database.ts';
import { pauseTarget, resumeTarget, type PauseKind } from '../../src/db/pauses.ts';
import { claimSubmission, type ClaimedSubmission, type NewGeneration } from '../../src/db/index.ts';
import { claimOf, newGeneration } from './fixtures.ts';

export const BY = { reason: 'ticket 1', actor: 'cli:ann' };

let names = 0;
/** Names that no other test has: a pause left behind by one stops nothing in another. */
export function newName(kind: string): string {
  names += 1;
  return `${kind}${names}`;
}

/** What tests do with pauses of this database. */
export function pausingOn(test: TestDb) {
  return {
    pause: (kind: PauseKind, target: string, by = BY) => pauseTarget(test.db, { kind, target, ...by }),
    resume: (kind: PauseKind, target: string, by = BY) => resumeTarget(test.db, { kind, target, ...by }),
    claim: (id: string, provider: string): Promise<ClaimedSubmission> =>
      claimSubmission(test.db, claimOf(id, { provider })),
    /** When the sweep may wake it, from now. */
    dueInMs: async (id: string): Promise<number> => {
      const [row] = await test.sql<{ ms: number }>(
        'SELECT ms_until(due_at)::float8 AS ms FROM generation WHERE id = $1',
        [id],
      );
      return row!.ms;
    },
  };
}

/** A plan whose routes are these providers, as the catalogue would freeze it. */
export function planOn(...providers: string[]): NewGeneration['plan'] {
  const plan = newGeneration({ id: '', accountId: '' }).plan as { routes: object[] };
  return { ...plan, routes: providers.map((provider) => ({ ...plan.routes[0], provider })) };
}
