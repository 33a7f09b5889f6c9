import type { Acted, ByOperator } from '../db/operator-actions.ts';
import type { Db } from '../db/index.ts';
import type { OperatorActionName } from '../domain/operator-actions.ts';
import { GENERATION_ID } from '../domain/ids.ts';
import { operate } from './operate.ts';
import type { OperatorContext } from './operate.ts';

export type { Acted } from '../db/operator-actions.ts';

/** What every action of an operator on a generation is told. */
export interface ActionInput {
  readonly id: string;
  readonly actor: string;
  /** Why; kept for ever. */
  readonly reason: string;
  /** Only tell what would come of it. */
  readonly dryRun: boolean;
}

/** Does it in one transaction with its record, then wakes its run where that must look; a dry run is undone. */
export function actOnGeneration(
  ctx: OperatorContext,
  { id, actor, reason, dryRun }: ActionInput,
  act: (db: Db, by: ByOperator) => Promise<Acted>,
): Promise<Acted> {
  if (!GENERATION_ID.test(id)) return Promise.resolve({ outcome: 'not_found' });
  return operate(ctx, dryRun, async ({ db, starter }) => {
    const acted = await act(db, { generationId: id, actor, reason });
    if (acted.outcome === 'done' && acted.wake) starter.enqueue(acted.run, 'operator');
    return acted;
  });
}

/** An action that was done, as the API and the command line tell it. */
export function actionView(
  action: OperatorActionName,
  done: Extract<Acted, { outcome: 'done' }>,
  more: { readonly dryRun: boolean; readonly temporalUrl: string | null },
) {
  return {
    object: 'operator_action',
    generation: done.run.generationId,
    action,
    outcome: done.effect,
    dry_run: more.dryRun,
    state: done.state,
    stage: done.stage,
    submission: done.submission ?? null,
    job_id: done.jobId ?? null,
    count: done.count ?? null,
    skipped: done.skipped ?? null,
    store_until: done.until ?? null,
    temporal_url: more.temporalUrl,
  } as const;
}
