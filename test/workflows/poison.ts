import { sleep } from '@temporalio/workflow';

export { generateMedia } from '../../src/workflows/index.ts';

/** H3: an endless loop without an `await`, which lint forbids; it never gives its thread back. */
export async function poison(): Promise<void> {
  for (let timers = 0; ; timers += 1) {
    if (timers < 1_000) void sleep('1 year');
  }
}
