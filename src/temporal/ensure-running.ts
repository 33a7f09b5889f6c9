import type { Client } from '@temporalio/client';
import { ServiceError, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { RunFacts } from '../db/run-facts.ts';
import { GENERATE_MEDIA, MAIN_QUEUE, wakeSignal } from '../workflows/messages.ts';
import type { GenerateMediaInput, WakeReason } from '../workflows/messages.ts';
import { startAttributes } from './search-attributes.ts';

const RPC_MS = 3_000;

/** Everything that ensures runs shares one client; `onDegraded` is told when search attributes are missing. */
export interface TemporalDeps {
  readonly client: Client;
  readonly onDegraded: (problem: 'search_attributes_missing') => void;
}

/**
 * Makes sure that a run of this generation exists and looks at its rows: a plain start after creation, else a
 * signal-with-start. Safe to repeat, also for a generation that has ended: the new run reads its row and exits.
 * @throws when Temporal cannot be reached within 3 s; the sweep repeats it.
 */
export async function ensureRunning(
  deps: TemporalDeps,
  facts: RunFacts,
  reason: WakeReason | 'created',
): Promise<void> {
  try {
    await send(deps, facts, reason, true);
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return;
    if (!refusesSearchAttributes(error)) throw error;
    deps.onDegraded('search_attributes_missing');
    await send(deps, facts, reason, false);
  }
}

async function send(
  { client }: TemporalDeps,
  facts: RunFacts,
  reason: WakeReason | 'created',
  withAttributes: boolean,
): Promise<void> {
  const input: GenerateMediaInput = {
    generationId: facts.generationId,
    plan: { provider: facts.provider, timings: facts.timings },
  };
  const options = {
    args: [input],
    taskQueue: MAIN_QUEUE,
    workflowId: facts.generationId,
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowTaskTimeout: '5s',
    // Its steps inherit it. Servers that know fairness (1.29) also take accounts in turns.
    priority: { priorityKey: facts.priority ?? 3, fairnessKey: facts.accountId },
    staticSummary: `${facts.method} · ${facts.model} · ${facts.tenantId}`,
    ...(withAttributes ? { typedSearchAttributes: startAttributes(facts) } : {}),
  } as const;
  await client.withDeadline(Date.now() + RPC_MS, async () => {
    if (reason === 'created') await client.workflow.start(GENERATE_MEDIA, options);
    else
      await client.workflow.signalWithStart(GENERATE_MEDIA, {
        ...options,
        signal: wakeSignal,
        signalArgs: [{ reason }],
      });
  });
}

/** INVALID_ARGUMENT that names a search attribute: the namespace was not prepared by `darkroom migrate`. */
function refusesSearchAttributes(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: unknown; details?: unknown } };
  return (
    error instanceof ServiceError && cause?.code === 3 && /search attribute/i.test(String(cause.details))
  );
}
