import { scanByCommand } from './scan-command.ts';
import type { ScanConfig } from './scan-result.ts';
import { scanByUrl } from './scan-url.ts';
import type { FileScan } from './types.ts';

/**
 * The scanner that the operator named; with null every file is clean. `onFailure` hears why a file could not be
 * scanned, in words that may be logged.
 */
export function createScan(
  config: ScanConfig | null,
  onFailure: (problem: string) => void = () => {},
): FileScan {
  if (config === null) return async () => ({ kind: 'clean' });
  return async (file, signal) => {
    signal.throwIfAborted();
    const result =
      config.kind === 'url'
        ? await scanByUrl(config, file, signal)
        : await scanByCommand(config, file, signal);
    if (result.kind !== 'failed') return result;
    onFailure(result.problem);
    return { kind: 'failed', reason: result.reason };
  };
}
