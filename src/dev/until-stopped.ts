const FORCE_AFTER_MS = 1_000;
const PARENT_CHECK_MS = 1_000;

/**
 * Resolves on Ctrl-C, SIGTERM, SIGHUP, or when the npm that started us is gone. npm passes on signals that the terminal
 * sent to us as well, so only a signal a second later counts as impatience: it ends this process at once, and the keeper
 * ends the rest.
 */
export function untilStopped(): Promise<'stopped'> {
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const stop = () => {
      firstAt ??= performance.now();
      if (performance.now() - firstAt > FORCE_AFTER_MS) process.exit(130);
      resolve('stopped');
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
    if (process.env['npm_lifecycle_event'] === undefined) return;
    const parent = process.ppid;
    setInterval(() => {
      if (process.ppid !== parent) stop();
    }, PARENT_CHECK_MS).unref();
  });
}
