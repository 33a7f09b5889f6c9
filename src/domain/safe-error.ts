const MAX_FRAMES = 8;

/** What may be logged of an error: its name, code and where it was thrown; a message may quote prompts or secrets. */
export interface SafeError {
  readonly name: string;
  readonly code?: string;
  readonly at: readonly string[];
}

export function safeError(error: unknown): SafeError {
  if (!(error instanceof Error)) return { name: typeof error, at: [] };
  const { code } = error as { code?: unknown };
  const at = (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, MAX_FRAMES)
    .map((line) => line.trim());
  return { name: error.name, ...(typeof code === 'string' ? { code } : {}), at };
}
