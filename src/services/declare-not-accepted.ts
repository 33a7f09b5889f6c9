import { declareNotAccepted as recordDeclaration } from '../db/operator-actions.ts';
import { actOnGeneration, type Acted, type ActionInput } from './act-on-generation.ts';
import type { OperatorContext } from './operate.ts';

/**
 * A person has seen at the provider that an unknown submission has no job. The generation ends and is released; with
 * `resubmit` it is submitted again, which may buy a second job if the person was wrong.
 */
export function declareNotAccepted(
  ctx: OperatorContext,
  input: ActionInput & {
    /** null = the last one that was sent. */
    readonly submission: string | null;
    readonly resubmit: boolean;
  },
): Promise<Acted> {
  const { submission, resubmit } = input;
  return actOnGeneration(ctx, input, (db, by) => recordDeclaration(db, { ...by, submission, resubmit }));
}
