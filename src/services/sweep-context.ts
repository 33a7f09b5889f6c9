import type { Db, RunFacts } from '../db/index.ts';
import type { CallbackUrls } from '../domain/callback-urls.ts';
import type { Provider, ProviderCredential } from '../domain/provider.ts';
import type { SweepPass, SweepProblem } from '../domain/sweep.ts';
import type { Storage } from '../storage/index.ts';

/** A provider with every credential that may still have jobs there. */
export interface SweptProvider {
  readonly provider: Provider;
  readonly credentials: ReadonlyMap<string, ProviderCredential>;
  readonly credential: (name: string) => ProviderCredential | undefined;
}

/**
 * Told of what was left undone or found. `key` is an id, a provider's name, a path of ours or the label of an invariant,
 * whose `examples` are keys of its rows; never content.
 */
export type OnSweepProblem = (
  pass: SweepPass,
  problem: SweepProblem,
  error: unknown,
  key: string | null,
  examples?: readonly string[],
) => void;

/** What the passes of the sweep act on. */
export interface SweepContext {
  readonly db: Db;
  /** Starts a run, or wakes it. */
  readonly ensure: (facts: RunFacts, reason: 'sweep') => Promise<void>;
  /** Whether a generation's run is open in Temporal. */
  readonly isRunOpen: (generationId: string) => Promise<boolean>;
  readonly storage: Pick<Storage, 'remove'>;
  /** Those that this process can ask; empty = their passes are left to others. */
  readonly providers: ReadonlyMap<string, SweptProvider>;
  readonly callbacks: Pick<CallbackUrls, 'submissionOf'>;
  readonly onProblem: OnSweepProblem;
  /** Aborted when the process stops: a pass then ends early. */
  readonly signal: AbortSignal;
}
