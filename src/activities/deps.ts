import type { CallbackUrls } from '../domain/callback-urls.ts';
import type { FileLinks } from '../domain/file-links.ts';
import type { LogFields } from '../domain/log-fields.ts';
import type { Provider, ProviderCredential } from '../domain/provider.ts';
import type { Db } from '../db/index.ts';
import type { OutboundHttp } from '../net/index.ts';
import type { FileScan, Storage } from '../storage/index.ts';
import type { DownloadSlots } from './download-slots.ts';
import type { Observe } from './observe-together.ts';
import type { PollBudget } from './poll-budget.ts';

/** One configured provider with its credentials; a submission keeps the one that it was sent with. */
export interface ProviderAccess {
  readonly provider: Provider;
  readonly current: ProviderCredential;
  readonly credential: (name: string) => ProviderCredential | undefined;
}

/** A line for operators; only these fields are ever written, and a message is a fixed text. */
export interface StepLog {
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

/** Everything the activities act on, composed once per worker process. */
export interface ActivityDeps {
  readonly db: Db;
  readonly providers: ReadonlyMap<string, ProviderAccess>;
  readonly http: OutboundHttp;
  readonly storage: Storage;
  /** Asked of every stored output before it counts as stored. */
  readonly scan: FileScan;
  readonly slots: DownloadSlots;
  readonly callbacks: CallbackUrls;
  /** How providers fetch inputs from us; null without PUBLIC_URL: then they are sent inline, where that is possible. */
  readonly links: FileLinks | null;
  readonly observe: Observe;
  readonly pollBudget: PollBudget;
  /** How long outputs are kept, in milliseconds. */
  readonly retentionMs: number;
  readonly log: StepLog;
  /** From 0 to 1, for jitter. */
  readonly random: () => number;
}
