const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const PARENT_MS = 500;

/**
 * Resolves with the exit code once somebody wants the run to end: by a signal, or, under npm, by killing npm alone, which
 * tells this process nothing. A second signal ends it at once; what was started is then ended by the keeper.
 */
export function untilCut(): Promise<number> {
  return new Promise((resolve) => {
    let isCut = false;
    const cut = (code: number): void => {
      if (isCut) process.exit(code);
      isCut = true;
      // What is measured fails from now on, and nobody asks for it any more.
      process.on('unhandledRejection', () => {});
      resolve(code);
    };
    for (const [signal, code] of Object.entries(SIGNALS)) process.on(signal, () => cut(code));
    if (process.env['npm_lifecycle_event'] === undefined) return;
    const parent = process.ppid;
    const watch = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(watch);
      cut(SIGNALS.SIGHUP);
    }, PARENT_MS);
    watch.unref();
  });
}
