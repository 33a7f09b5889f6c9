import {
  isModelOpen,
  pauseTarget as recordPause,
  resumeTarget as recordResume,
  type Pause,
  type PauseChange,
} from '../db/pauses.ts';
import type { Catalogue } from '../domain/catalogue.ts';
import { PROVIDERS } from '../providers/index.ts';
import type { OperatorContext } from './operate.ts';

/** What pausing works with; `known` are named to who asks for something else. */
export interface PauseContext extends Pick<OperatorContext, 'db'> {
  readonly catalogue: Catalogue;
}

/** `known` = the names there are; empty for tenants, who may be many. */
export type UnknownTarget = { readonly outcome: 'unknown_target'; readonly known: readonly string[] };
export type PauseOutcome =
  | { readonly outcome: 'paused' | 'already_paused'; readonly pause: Pause }
  | UnknownTarget;
export type ResumeOutcome =
  /** `due`: how many waiting generations go on now. */
  | { readonly outcome: 'resumed'; readonly pause: Pause; readonly due: number }
  | { readonly outcome: 'not_paused' }
  | UnknownTarget;

/** Stops new submits to a provider, or of a model or tenant, with who and why; what a provider has already goes on. */
export async function pauseTarget(ctx: PauseContext, change: PauseChange): Promise<PauseOutcome> {
  const unknown = await findUnknown(ctx, change);
  if (unknown !== null) return unknown;
  const paused = await recordPause(ctx.db, change);
  return paused.outcome === 'unknown_tenant' ? { outcome: 'unknown_target', known: [] } : paused;
}

/** Takes a pause back: those that wait for it go on within seconds. What is paused can be resumed whatever the catalogue says. */
export async function resumeTarget(ctx: PauseContext, change: PauseChange): Promise<ResumeOutcome> {
  const resumed = await recordResume(ctx.db, change);
  if (resumed.outcome === 'resumed') return resumed;
  return (await findUnknown(ctx, change)) ?? resumed;
}

/** A misspelt name must not look like a pause. */
async function findUnknown(
  { db, catalogue }: PauseContext,
  { kind, target }: Pick<PauseChange, 'kind' | 'target'>,
): Promise<UnknownTarget | null> {
  switch (kind) {
    case 'provider': {
      const routed = catalogue.models.flatMap(({ routes }) => routes.map(({ provider }) => provider));
      const known = [...new Set([...PROVIDERS.map(({ name }) => name), ...routed])];
      return known.includes(target) ? null : { outcome: 'unknown_target', known };
    }
    case 'model': {
      const known = catalogue.models.map(({ id }) => id);
      const exists = known.includes(target) || (await isModelOpen(db, target));
      return exists ? null : { outcome: 'unknown_target', known };
    }
    case 'tenant': {
      const tenant = await db.prisma.tenant.findUnique({ where: { id: target }, select: { id: true } });
      return tenant === null ? { outcome: 'unknown_target', known: [] } : null;
    }
  }
}
