/** One thing the process needs; `check` resolves when it is there. */
export interface ReadinessCheck {
  /** Shown to anyone, so a plain word: database, temporal, storage. */
  readonly name: string;
  check(signal: AbortSignal): Promise<unknown>;
  /** Shown when it is missing: what to do, without hosts or secrets. */
  readonly advice: string;
  /** Without it no request can be served. What is not required (Temporal, workers) is named, but takes none away. */
  readonly required: boolean;
}

export interface Readiness {
  readonly ready: boolean;
  readonly checks: readonly {
    readonly name: string;
    readonly ok: boolean;
    readonly required: boolean;
    readonly advice: string;
  }[];
}

const CHECK_TIMEOUT_MS = 2_000;

async function holds(
  check: ReadinessCheck,
  onFailure: (name: string, error: unknown) => void,
): Promise<boolean> {
  const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('timed out')), { once: true });
  });
  try {
    await Promise.race([check.check(signal), late]);
    return true;
  } catch (error) {
    onFailure(check.name, error);
    return false;
  }
}

/**
 * A reader of readiness: every check at once, at most 2 s each. Callers that come while one round runs share it, so
 * that a flood of probes costs one round.
 */
export function createReadiness(
  checks: readonly ReadinessCheck[],
  onFailure: (name: string, error: unknown) => void,
): () => Promise<Readiness> {
  let running: Promise<Readiness> | null = null;
  return () => {
    running ??= round().finally(() => {
      running = null;
    });
    return running;
  };
  async function round(): Promise<Readiness> {
    const results = await Promise.all(
      checks.map(async (check) => ({
        name: check.name,
        advice: check.advice,
        required: check.required,
        ok: await holds(check, onFailure),
      })),
    );
    return { ready: results.every(({ ok, required }) => ok || !required), checks: results };
  }
}
