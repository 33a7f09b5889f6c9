import { z } from 'zod';
import type { Db } from './client.ts';

export const PAUSE_KINDS = ['provider', 'model', 'tenant'] as const;
export type PauseKind = (typeof PAUSE_KINDS)[number];

/** What a person has stopped: no new submit until it is resumed. */
export interface Pause {
  readonly kind: PauseKind;
  /** Name of the provider, or id of the model or tenant. */
  readonly target: string;
  readonly reason: string;
  readonly actor: string;
  readonly createdAt: Date;
}

export interface PauseChange {
  readonly kind: PauseKind;
  readonly target: string;
  readonly reason: string;
  readonly actor: string;
}

const pause = z.object({
  kind: z.enum(PAUSE_KINDS),
  target: z.string(),
  reason: z.string(),
  actor: z.string(),
  createdAt: z.iso.datetime().transform((text) => new Date(text)),
});

const paused = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.enum(['paused', 'already_paused']), pause }),
  z.object({ outcome: z.literal('unknown_tenant') }),
]);

/** Stops new submits; the first one stands with its reason. When this has returned, no claim gets the right to send there. */
export function pauseTarget(db: Db, change: PauseChange): Promise<z.infer<typeof paused>> {
  return db.call('pause_target', { ...change }, paused);
}

const resumed = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('resumed'), pause, due: z.int() }),
  z.object({ outcome: z.literal('not_paused') }),
]);

/** Lets submits go on; `due` = how many waiting generations the sweep wakes now (at most 10000; the rest looks within 5 minutes). */
export function resumeTarget(db: Db, change: PauseChange): Promise<z.infer<typeof resumed>> {
  return db.call('resume_target', { ...change }, resumed);
}

/** Everything that is paused now, providers first, then models and tenants, each by name. */
export function listPauses(db: Db): Promise<Pause[]> {
  return db.prisma.$queryRaw<Pause[]>`
    SELECT kind, target, reason, actor, created_at AS "createdAt" FROM pause
    ORDER BY array_position(ARRAY['provider', 'model', 'tenant'], kind), target`;
}

/** The ids of the models that are paused. */
export async function findPausedModels(db: Db): Promise<ReadonlySet<string>> {
  const rows = await db.prisma.pause.findMany({ where: { kind: 'model' }, select: { target: true } });
  return new Set(rows.map(({ target }) => target));
}

/** Why a new generation of this tenant and model is not taken now; null = it is. The claim and the creation decide. */
export async function findPauseOf(
  db: Db,
  { tenantId, model }: { readonly tenantId: string; readonly model: string },
): Promise<'tenant_paused' | 'model_paused' | null> {
  const rows = await db.prisma.pause.findMany({
    where: {
      OR: [
        { kind: 'tenant', target: tenantId },
        { kind: 'model', target: model },
      ],
    },
    select: { kind: true },
  });
  if (rows.some(({ kind }) => kind === 'tenant')) return 'tenant_paused';
  return rows.length > 0 ? 'model_paused' : null;
}

/** Whether a generation of this model has not ended; also of one that has left the catalogue. */
export async function isModelOpen(db: Db, model: string): Promise<boolean> {
  return (
    (await db.prisma.generation.findFirst({ where: { model, completedAt: null }, select: { id: true } })) !==
    null
  );
}

/** What a scrape shows: names of providers and models, and how many tenants. */
export interface PauseCounts {
  readonly providers: readonly string[];
  readonly models: readonly string[];
  readonly tenants: number;
}

/** One cheap read of what is paused; the names of tenants stay out of metrics. */
export async function countPauses(db: Db): Promise<PauseCounts> {
  const rows = await db.prisma.pause.findMany({ select: { kind: true, target: true } });
  const named = (wanted: PauseKind) => rows.filter(({ kind }) => kind === wanted).map(({ target }) => target);
  return { providers: named('provider'), models: named('model'), tenants: named('tenant').length };
}
