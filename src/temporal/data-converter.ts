import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import type { Keyring } from '../domain/keyring.ts';
import { createPayloadCodec } from './payload-codec.ts';

/** In source or built, whichever this file is. */
const FAILURE_CONVERTER_PATH = fileURLToPath(
  new URL(`failure-converter${import.meta.url.slice(-3)}`, import.meta.url),
);

/**
 * How this process writes to Temporal and reads from it; clients and workers need the same.
 * @param keys - `TEMPORAL_CODEC_KEYS`; null = as plain JSON, which holds ids, codes and numbers only
 * @param onUnreadable - told once for each key that is missing, with what to do
 */
export function createDataConverter(
  keys: Keyring | null,
  onUnreadable: (problem: string) => void,
): DataConverter {
  return {
    payloadCodecs: [createPayloadCodec(keys, onUnreadable)],
    ...(keys === null ? {} : { failureConverterPath: FAILURE_CONVERTER_PATH }),
  };
}
