import { findPausedModels as readPausedModels, listPauses as readPauses, type Pause } from '../db/pauses.ts';
import type { ServiceContext } from './context.ts';

export { PAUSE_KINDS, type Pause } from '../db/pauses.ts';

/** Everything that an operator has stopped: providers, models, tenants. */
export function listPauses(ctx: Pick<ServiceContext, 'db'>): Promise<readonly Pause[]> {
  return readPauses(ctx.db);
}

/** The ids of the models of which nothing new is taken. */
export function findPausedModels(ctx: Pick<ServiceContext, 'db'>): Promise<ReadonlySet<string>> {
  return readPausedModels(ctx.db);
}
