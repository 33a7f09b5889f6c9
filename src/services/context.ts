import type { Db } from '../db/index.ts';
import type { Catalogue } from '../domain/catalogue.ts';
import type { Keyring } from '../domain/keyring.ts';
import type { Provider } from '../domain/provider.ts';
import type { Starter } from '../temporal/starter.ts';

/** A provider as the callback route needs it: who signs, under which credential's secrets. */
export interface CallbackProvider {
  readonly provider: Provider;
  readonly credentialName: string;
  /** Empty = its signed callbacks can't be verified, so none is taken; null = it needs none (public keys, or unsigned). */
  readonly webhookSecrets: readonly string[] | null;
}

/** What every verb is given. */
export interface ServiceContext {
  readonly db: Db;
  readonly catalogue: Catalogue;
  readonly keyring: Keyring;
  readonly providers: ReadonlyMap<string, CallbackProvider>;
  /** Starts or wakes the run soon; never waits, false when full (the sweep covers the rest). */
  readonly starter: Pick<Starter, 'enqueue'>;
  readonly nowMs: () => number;
}
