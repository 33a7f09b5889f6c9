/** As src/workflows/messages.ts has them: runs and settles, collects, submits. */
export const BARE_QUEUES = { main: 'bare', collect: 'bare-collect', submit: 'bare-submit' } as const;

/** The limit of submits a second, of ours by its setting, of bare by the same option; the default of 10 is all that would be seen. */
export const SUBMITS_PER_SECOND = 9_999;
