import { setTimeout as sleep } from 'node:timers/promises';
import { claimOutputs, loadGeneration, recordOutput } from '../db/index.ts';
import type { LoadedGeneration, OutputAttempts } from '../db/index.ts';
import { backoffMs } from '../domain/backoff.ts';
import type { Observation } from '../domain/provider.ts';
import type { SettleProposal, Step } from '../domain/step.ts';
import type { ActivityDeps } from './deps.ts';
import { pollAgain } from './failures.ts';
import { fetchOutput, removeEarlier } from './fetch-output.ts';
import { callsOf } from './job.ts';
import type { AttemptContext, Job } from './job.ts';
import { ended, settleStep } from './steps.ts';

const LOOK_EVERY_MS = 500;
/** The pause between attempts doubles up to so many times the first: a full disk costs few downloads, its end is seen soon. */
const LONGEST_PAUSE = 6;

/**
 * Storing goes on after a success that stands: waits for the attempt that holds the lease, else observes again for
 * fresh links and fetches what is left, until `store_until`.
 */
export async function storeAfterSuccess(
  deps: ActivityDeps,
  job: Job,
  context: AttemptContext,
): Promise<Step> {
  const { generation } = job.loaded;
  const { timings } = generation.plan;
  const end = await waitForLease(deps, job.loaded, context);
  if (end !== null) return end;
  const leasedAtMs = performance.now();
  const attempts = await claimOutputs(deps.db, {
    generationId: generation.id,
    storeLeaseMs: timings.storeLeaseMs,
  });
  if (attempts.length === 0) return conclude(deps, job, attempts);
  if ((generation.storeInMs ?? 0) <= 0) return giveUp(deps, job, attempts);
  const observation = await lookOnce(deps, job);
  return storeOutputs(deps, job, observation, { attempts, leasedAtMs }, context);
}

function lookOnce(deps: ActivityDeps, job: Job): Promise<Observation> {
  const { provider, options } = callsOf(deps, job);
  return provider.observe(job.handle, options);
}

/** Outputs that this step may store, and when it asked for them by performance.now(). */
export interface LeasedOutputs {
  readonly attempts: OutputAttempts;
  readonly leasedAtMs: number;
}

/** Fetches the leased outputs by the links of this observation; what it cannot decide is tried again later. */
export async function storeOutputs(
  deps: ActivityDeps,
  job: Job,
  observation: Observation,
  { attempts, leasedAtMs }: LeasedOutputs,
  context: AttemptContext,
): Promise<Step> {
  const { generation } = job.loaded;
  let again: Promise<Observation> | undefined;
  const lookAgain = () => (again ??= lookOnce(deps, job));
  const ends = await Promise.all(
    attempts.map(async ({ index, attempt }) => {
      const url = observation.kind === 'succeeded' ? observation.outputs[index]?.url : undefined;
      const target = { generationId: generation.id, index, attempt };
      if (url !== undefined) {
        const linkExpiresAt = linkExpiry(observation);
        const source = { url, linkExpiresAt, leasedAtMs, lookAgain };
        return fetchOutput(deps, job, { ...target, ...source }, context);
      }
      if (observation.kind !== 'running' && observation.kind !== 'unavailable') {
        // Whatever the provider calls it after a success that we saw: the output is gone there.
        await recordOutput(deps.db, { ...target, result: 'lost', problem: 'gone_at_provider' });
      } else {
        await recordOutput(deps.db, { ...target, result: 'retry', problem: 'no_link', gone: false });
      }
      return { stored: false };
    }),
  );
  // The usual end needs no look at the rows: were another output still open, settle would say so.
  if (ends.length > 0 && ends.every(({ stored }) => stored)) {
    return settleStep(job.loaded, { state: 'succeeded', errorCode: null }, { succeeded: true });
  }
  return conclude(deps, job, attempts);
}

function linkExpiry(observation: Observation): number {
  const at = observation.kind === 'succeeded' ? observation.linkExpiresAt : null;
  return at?.getTime() ?? Number.MAX_SAFE_INTEGER;
}

/** Waits while another attempt holds a lease; its outcome is as good as ours. */
async function waitForLease(
  deps: ActivityDeps,
  first: LoadedGeneration,
  context: AttemptContext,
): Promise<Step | null> {
  let loaded: LoadedGeneration | null = first;
  for (;;) {
    const end = ended(loaded);
    if (end !== null || loaded === null) return end;
    const held = loaded.outputs.some(({ state, leaseInMs }) => state === 'storing' && (leaseInMs ?? 0) > 0);
    if (!held) return null;
    await sleep(LOOK_EVERY_MS, undefined, { signal: context.signal });
    loaded = await loadGeneration(deps.db, { generationId: loaded.generation.id, dueInMs: 5_000 });
  }
}

async function giveUp(deps: ActivityDeps, job: Job, attempts: OutputAttempts): Promise<Step> {
  const { generation } = job.loaded;
  for (const { index, attempt } of attempts) {
    const target = { generationId: generation.id, index, attempt };
    const row = await recordOutput(deps.db, { ...target, result: 'lost', problem: 'store_time_over' });
    await removeEarlier(deps, target, row);
  }
  return conclude(deps, job, attempts);
}

/** All outputs decided: propose the end. Else the same again after a pause that grows with the attempts. */
async function conclude(deps: ActivityDeps, job: Job, attempts: OutputAttempts): Promise<Step> {
  const { id: generationId, plan } = job.loaded.generation;
  const { storeRetryMs } = plan.timings;
  const tries = Math.max(1, ...attempts.map(({ attempt }) => attempt));
  const series = { initialMs: storeRetryMs, factor: 2, maxMs: LONGEST_PAUSE * storeRetryMs };
  const retryMs = backoffMs(tries - 1, series, deps.random());
  const loaded = await loadGeneration(deps.db, { generationId, dueInMs: retryMs });
  const end = ended(loaded);
  if (end !== null || loaded === null) return end ?? { step: 'done', state: 'gone' };
  if (loaded.outputs.some(({ state }) => state === 'storing')) {
    throw pollAgain(Math.min(retryMs, Math.max(loaded.generation.storeInMs ?? 0, 0) + 50), 'storing');
  }
  return settleStep(loaded, proposal(loaded));
}

function proposal({ outputs }: LoadedGeneration): SettleProposal {
  if (outputs.some(({ state }) => state === 'stored')) return { state: 'succeeded', errorCode: null };
  const invalid = outputs.some(({ state }) => state === 'invalid');
  return { state: 'failed', errorCode: invalid ? 'output_invalid' : 'output_lost' };
}
