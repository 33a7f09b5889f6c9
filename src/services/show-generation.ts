import { listCallbacks } from '../db/read-callbacks.ts';
import { findOperated, readStanding, type OperatedRow, type Standing } from '../db/show-generation.ts';
import type { Stage, State } from '../domain/generation.ts';
import { GENERATION_ID } from '../domain/ids.ts';
import type { OperatedSubmission, ShownGeneration } from '../domain/operated-generation.ts';
import { adviceFor, type Advice } from '../domain/operator-advice.ts';
import type { ProviderCapabilities } from '../domain/provider.ts';
import type { ServiceContext } from './context.ts';
import { viewCallback } from './list-callbacks.ts';

const SHOWN_CALLBACKS = 50;
const LIVE = new Set(['prepared', 'sending', 'unknown', 'accepted']);

export interface ShowContext extends Pick<ServiceContext, 'db' | 'runUrl'> {
  /** What a provider of this name can do, or null when it is not known here. */
  readonly capabilitiesOf: (provider: string) => Pick<ProviderCapabilities, 'idempotency' | 'list'> | null;
}

/** All that the rows tell of one generation, for operators, and what to do next; never its content. Null = unknown id. */
export async function showGeneration(ctx: ShowContext, id: string): Promise<ShownGeneration | null> {
  if (!GENERATION_ID.test(id)) return null;
  const row = await findOperated(ctx.db, id);
  if (row === null) return null;
  const [standing, callbacks] = await Promise.all([
    readStanding(ctx.db, row),
    listCallbacks(ctx.db, { generationId: id, limit: SHOWN_CALLBACKS }),
  ]);
  return {
    ...viewRow(row, standing),
    temporal_url: ctx.runUrl(id),
    next: adviceOf(ctx, row, standing),
    submissions: row.submissions.map(viewSubmission),
    callbacks: callbacks.map((callback) => viewCallback(callback, ctx.runUrl)),
    outputs: row.outputs.map(viewOutput),
    webhooks: row.webhooks.flatMap((event) =>
      event.deliveries.map((delivery) => viewDelivery(delivery, event.type, row.callbackUrl)),
    ),
    operator_actions: row.actions.map(({ kind, actor, reason, detail, createdAt }) => ({
      kind,
      actor,
      reason,
      detail: detail as Record<string, unknown>,
      at: createdAt.toISOString(),
    })),
    events: row.events.map(({ seq, type, data, createdAt }) => ({
      seq,
      type,
      data: data as Record<string, unknown>,
      at: createdAt.toISOString(),
    })),
  };
}

function adviceOf({ capabilitiesOf }: ShowContext, row: OperatedRow, standing: Standing): Advice {
  const live = row.submissions.findLast(({ state }) => LIVE.has(state)) ?? row.submissions.at(-1);
  const provider = live?.provider ?? row.provider;
  const capabilities = capabilitiesOf(provider);
  const output = row.outputs.find(({ state, problem }) => state === 'storing' && problem !== null);
  return adviceFor({
    generationId: row.id,
    stage: row.stage as Stage,
    operatorReason: row.operatorReason,
    provider,
    problem: (row.stage === 'storing' ? output?.problem : live?.problem) ?? null,
    submissionId: live?.id ?? null,
    idempotency: capabilities?.idempotency ?? null,
    listed: capabilities?.list ?? false,
    ...standing,
  });
}

/** Names every field by hand; the casts hold because CHECK constraints allow these words only. */
function viewRow(
  row: OperatedRow,
  standing: Standing,
): Omit<
  ShownGeneration,
  | 'temporal_url'
  | 'next'
  | 'submissions'
  | 'callbacks'
  | 'outputs'
  | 'webhooks'
  | 'operator_actions'
  | 'events'
> {
  const { hold } = row;
  if (hold === null) throw new Error('a generation without its hold');
  return {
    object: 'operated_generation',
    id: row.id,
    tenant: row.tenantId,
    account: row.account.name,
    model: row.model,
    provider: row.provider,
    state: row.state as State,
    stage: row.stage as Stage,
    progress: row.progress,
    error_code: row.errorCode,
    operator_reason: row.operatorReason,
    delivery: row.delivery,
    credits: {
      state: hold.state,
      amount: Number(hold.amount),
      captured: Number(hold.captured),
      refunded: Number(hold.refunded),
    },
    cancellation:
      row.cancelOutcome === null
        ? null
        : { outcome: row.cancelOutcome, requested_by: row.cancelRequestedBy ?? '' },
    paused: standing.pause,
    provider_closed: standing.closed,
    created_at: row.createdAt.toISOString(),
    started_at: iso(row.startedAt),
    deadline_at: row.deadlineAt.toISOString(),
    success_at: iso(row.successAt),
    store_until: iso(row.storeUntil),
    due_at: iso(row.dueAt),
    overdue_seconds: Math.floor(standing.overdueMs / 1_000),
    wake_requested_at: iso(row.wakeRequestedAt),
    completed_at: iso(row.completedAt),
    erased_at: iso(row.erasedAt),
  };
}

function viewSubmission(row: OperatedRow['submissions'][number]): OperatedSubmission {
  return {
    id: row.id,
    ordinal: row.ordinal,
    provider: row.provider,
    credential: row.credential,
    state: row.state,
    idempotency_key: row.idempotencyKey,
    first_sent_at: iso(row.firstSentAt),
    unknown_at: iso(row.unknownAt),
    accepted_at: iso(row.acceptedAt),
    lease_until: iso(row.leaseUntil),
    job_id: row.providerJobId,
    provider_status: row.providerStatus,
    problem: row.problem,
    refusal_code: row.refusalCode,
    observed_at: iso(row.observedAt),
    observations: row.observeCount,
    terminal_hint_at: iso(row.terminalHintAt),
    cancel_sent_at: iso(row.cancelSentAt),
    ended_at: iso(row.endedAt),
    ended_as: row.endedAs,
    late_look_at: iso(row.lateDueAt),
    late_success_at: iso(row.lateSuccess?.observedAt ?? null),
    cost:
      row.costAmount === null || row.costAt === null
        ? null
        : {
            amount: row.costAmount.toFixed(),
            unit: row.costUnit ?? '',
            final: row.costFinal === true,
            source: row.costSource ?? '',
            at: row.costAt.toISOString(),
          },
    orphan_jobs: row.orphans.map((orphan) => ({
      job_id: orphan.providerJobId,
      reported_at: orphan.createdAt.toISOString(),
    })),
    callbacks: row.callbackCount,
  };
}

function viewOutput(row: OperatedRow['outputs'][number]): ShownGeneration['outputs'][number] {
  return {
    index: row.index,
    state: row.state,
    attempts: row.attempt,
    problem: row.problem,
    path: row.path,
    bytes: row.bytes === null ? null : Number(row.bytes),
    sha256: row.sha256 === null ? null : Buffer.from(row.sha256).toString('hex'),
    media_type: row.mediaType,
    duration_seconds: row.durationSeconds,
    priced_seconds: row.pricedSeconds,
    lease_until: iso(row.leaseUntil),
    stored_at: iso(row.storedAt),
    expires_at: iso(row.expiresAt),
  };
}

function viewDelivery(
  row: OperatedRow['webhooks'][number]['deliveries'][number],
  type: string,
  callbackUrl: string | null,
): ShownGeneration['webhooks'][number] {
  return {
    id: `whd_${row.id}`,
    type,
    endpoint: row.endpointId,
    receiver: originOf(row.endpoint === null ? callbackUrl : row.endpoint.url),
    state: row.state,
    attempts: row.attempts,
    next_attempt_at: iso(row.nextAttemptAt),
    last_status: row.lastStatus,
    last_problem: row.lastProblem,
    delivered_at: iso(row.deliveredAt),
  };
}

/** Scheme, host and port: the rest of a tenant's URL may hold a secret. */
export function originOf(url: string | null): string | null {
  return url === null || !URL.canParse(url) ? null : new URL(url).origin;
}

const iso = (time: Date | null): string | null => time?.toISOString() ?? null;
