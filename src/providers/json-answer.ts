/** Strict UTF-8 (a byte order mark stays and is no JSON), then JSON; undefined when it is neither. */
export function parseJsonBytes(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** A provider's code, safe to store and to show: short, plain characters; `unspecified` for all else. */
export function safeCode(code: string | null | undefined): string {
  return code !== undefined && code !== null && /^[A-Za-z0-9_.-]{1,64}$/.test(code) ? code : 'unspecified';
}
