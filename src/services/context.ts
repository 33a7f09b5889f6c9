import type { Db } from '../db/index.ts';
import type { Catalogue } from '../domain/catalogue.ts';
import type { Keyring } from '../domain/keyring.ts';
import type { FileLinks } from '../domain/file-links.ts';
import type { Provider } from '../domain/provider.ts';
import type { OutboundHttp } from '../net/index.ts';
import type { FileScan, Storage } from '../storage/index.ts';
import type { Starter } from '../temporal/starter.ts';
import type { InputSlots } from './slots.ts';

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
  readonly links: FileLinks;
  readonly storage: Storage;
  /** Asked of every input before it may be used. */
  readonly scan: FileScan;
  /** Guarded, for what tenants name: input URLs. */
  readonly http: OutboundHttp;
  /** Whether a URL that tenants name may be called at all (scheme, port, literal address); checked again on each call. */
  readonly checkUrl: (url: string) => boolean;
  readonly inputSlots: InputSlots;
  /** Where operators see a generation's run in the Temporal UI; null = not configured. */
  readonly runUrl: (generationId: string) => string | null;
  /** How long outputs and inputs are kept unless the tenant has another time, in milliseconds. */
  readonly retentionMs: number;
}
