import { createSlots, type Slots } from './slots.ts';

/** How stored files go out of this process. */
export interface FileDelivery {
  /** `presigned` = readers are sent to the storage itself, where it can do that; else we stream. */
  readonly mode: 'proxy' | 'presigned';
  /** Each stream holds a connection and some buffers; the owner is the tenant. */
  readonly streams: Slots;
  /** How long a reader may take nothing before it is cut, in milliseconds. */
  readonly idleMs: number;
  /** How long the storage may take to the first byte, in milliseconds. */
  readonly firstByteMs: number;
}

/** The limits of a process that serves; a test may have others. */
export function createFileDelivery(over: Partial<FileDelivery> = {}): FileDelivery {
  return {
    mode: 'proxy',
    streams: createSlots({ total: 256, perOwner: 192 }),
    idleMs: 60_000,
    firstByteMs: 15_000,
    ...over,
  };
}
