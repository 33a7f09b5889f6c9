const MAX_WAIT_SECONDS = 60;

/** Whole seconds of `Prefer: wait=N` (RFC 7240 §4.3), at most 60; 0 when not asked for or unreadable. */
export function preferredWaitSeconds(header: string | undefined): number {
  for (const preference of (header ?? '').split(/[,;]/)) {
    const digits = /^\s*wait\s*=\s*"?(\d{1,6})"?\s*$/i.exec(preference)?.[1];
    if (digits !== undefined) return Math.min(MAX_WAIT_SECONDS, Number(digits));
  }
  return 0;
}
