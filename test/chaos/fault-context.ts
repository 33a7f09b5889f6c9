import type { Client } from './client.ts';
import type { Load } from './load.ts';
import type { LostInPart } from './partial-faults.ts';
import type { ProviderFaults, Target } from './provider-faults.ts';
import type { ChaosStack } from './stack.ts';
import type { Tenant } from './tenant.ts';
import type { Violation } from './types.ts';

/** What the faults work on. */
export interface FaultContext {
  readonly stack: ChaosStack;
  readonly tenant: Tenant;
  readonly client: Client;
  readonly load: Load;
  readonly providerFaults: ProviderFaults;
  /** What `providers` may strike in this run. */
  readonly targets: readonly Target[];
  /** Generations of which some outputs are to be lost. */
  readonly partials: LostInPart[];
  readonly violations: Violation[];
  /** Ids of the runs that we terminated or reset. */
  readonly endedRuns: string[];
  /** Aborted = stop as soon as it can be done. */
  readonly signal: AbortSignal;
}
