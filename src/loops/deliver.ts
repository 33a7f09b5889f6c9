import { claimDeliveries } from '../db/index.ts';
import type { ChangeFeed, ClaimedDelivery } from '../db/index.ts';
import { countWebhookAttempt } from '../metrics/webhook-metrics.ts';
import { createBell } from '../services/bell.ts';
import {
  deliverWebhook,
  WEBHOOK_TIMINGS,
  type AttemptReport,
  type DeliveryContext,
  type WebhookTimings,
} from '../services/deliver-webhook.ts';

export interface DeliverDeps extends DeliveryContext {
  readonly feed: Pick<ChangeFeed, 'subscribe'>;
  /** Told of each attempt that is on record. */
  readonly onAttempt: (report: AttemptReport) => void;
  /** Told of a pass or an attempt that failed by ourselves, mostly because the database is away. */
  readonly onProblem: (error: unknown) => void;
}

export interface DeliverOptions extends WebhookTimings {
  /** Between looks for what is due, besides those that the database asks for. */
  readonly everyMs: number;
  /** Deliveries claimed in one call. */
  readonly limit: number;
  /** Attempts under way in this process. */
  readonly concurrency: number;
  /** Attempts under way at one receiver, over all processes. */
  readonly perTarget: number;
  /** Attempts under way for one tenant, over all processes. */
  readonly perTenant: number;
  /** After this an attempt counts as lost and is made again; longer than `timeoutMs`. */
  readonly leaseMs: number;
}

export const DELIVER_DEFAULTS: DeliverOptions = {
  ...WEBHOOK_TIMINGS,
  everyMs: 1_000,
  limit: 50,
  concurrency: 64,
  perTarget: 4,
  perTenant: 16,
  // Beside the timeout, what a slow database may take before and after it.
  leaseMs: 20_000,
};

/**
 * Delivers webhooks until the signal is aborted, then waits for the attempts under way, each of which has its limit.
 * Runs in every worker process; they share what is due by lease. Looks at once when the database tells that something is
 * due or when an attempt has ended, since that makes room.
 */
export async function runDeliveries(
  deps: DeliverDeps,
  signal: AbortSignal,
  options: Partial<DeliverOptions> = {},
): Promise<void> {
  const all = { ...DELIVER_DEFAULTS, ...options };
  const underWay = new Set<Promise<void>>();
  const bell = createBell([signal]);

  const start = (delivery: ClaimedDelivery): void => {
    const attempt = deliverWebhook(deps, delivery, all)
      .then((report) => {
        countWebhookAttempt(report);
        deps.onAttempt(report);
        return undefined;
      })
      .catch(deps.onProblem)
      .finally(() => {
        underWay.delete(attempt);
        bell.ring();
      });
    underWay.add(attempt);
  };
  const claim = async (limit: number): Promise<number> => {
    const { perTarget, perTenant, leaseMs } = all;
    const claimed = await claimDeliveries(deps.db, { limit, perTarget, perTenant, leaseMs });
    for (const delivery of claimed) start(delivery);
    return claimed.length;
  };

  const unsubscribe = deps.feed.subscribe('darkroom_webhook', () => bell.ring());
  try {
    while (!signal.aborted) {
      const room = Math.min(all.limit, all.concurrency - underWay.size);
      const claimed = room === 0 ? 0 : await claim(room).catch(deps.onProblem);
      if (room === 0 || claimed !== room) await bell.heard(all.everyMs);
    }
  } finally {
    unsubscribe();
    await Promise.all(underWay);
    bell.release();
  }
}
