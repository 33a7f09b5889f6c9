import type { GenerationRow, OutputRow } from '../db/index.ts';
import type { GenerationErrorCode } from '../domain/errors.ts';
import type { CancellationOutcome, Delivery, Stage, State } from '../domain/generation.ts';
import type { FileLinks } from '../domain/file-links.ts';
import type { GenerationFacts, GenerationView, OutputFacts } from '../domain/generation-view.ts';
import { shownPlanSchema } from '../domain/plan.ts';

/**
 * A row as facts for the view, with fresh links that work for `linkMs` (the default of FileLinks). The casts hold because
 * CHECK constraints allow these words only.
 */
export function generationFacts(row: GenerationRow, links: FileLinks, linkMs?: number): GenerationFacts {
  if (row.hold === null) throw new Error('a generation without its hold');
  const plan = shownPlanSchema.parse(row.plan);
  return {
    id: row.id,
    account: row.account,
    state: row.state as State,
    stage: row.stage as Stage,
    progress: row.progress,
    model: row.model,
    provider: plan.providerChosen ? row.provider : null,
    input: row.input,
    metadata: row.metadata,
    creditsHeld: row.hold.amount,
    creditsCaptured: row.hold.captured,
    creditsRefunded: row.hold.refunded,
    holdOpen: row.hold.state === 'held',
    delivery: row.delivery as Delivery,
    cancellation: cancellation(row),
    errorCode: row.errorCode as GenerationErrorCode | null,
    outputs: row.outputs.map((output) => outputFacts(row, output, links, linkMs)),
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    startedAt: row.startedAt?.toISOString() ?? null,
    completedAt: row.completedAt?.toISOString() ?? null,
    deadlineAt: row.deadlineAt.toISOString(),
    expectedDurationSeconds: plan.expectedDurationSeconds,
  };
}

function cancellation(row: GenerationRow): GenerationView['cancellation'] {
  const { cancelRequestedAt, cancelRequestedBy, cancelOutcome } = row;
  if (cancelRequestedAt === null || cancelRequestedBy === null || cancelOutcome === null) return null;
  return {
    requested_by: cancelRequestedBy,
    requested_at: cancelRequestedAt.toISOString(),
    outcome: cancelOutcome as CancellationOutcome,
  };
}

function outputFacts(
  row: GenerationRow,
  output: OutputRow,
  links: FileLinks,
  lifetimeMs: number | undefined,
): OutputFacts {
  const owner = { tenantId: row.tenantId, linkVersion: row.linkVersion };
  const file = { kind: 'output', generationId: row.id, index: output.index } as const;
  const options = { notAfter: output.expiresAt, ...(lifetimeMs === undefined ? {} : { lifetimeMs }) };
  const link = output.state === 'stored' ? links.link(owner, file, options) : null;
  return {
    index: output.index,
    mediaType: output.mediaType,
    bytes: output.bytes,
    sha256: output.sha256,
    width: output.width,
    height: output.height,
    durationSeconds: output.durationSeconds,
    expiresAt: output.expiresAt?.toISOString() ?? null,
    link: link === null ? null : { url: link.url, expiresAt: link.expiresAt.toISOString() },
  };
}
