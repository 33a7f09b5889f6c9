import type { Child } from '../../src/dev/child.ts';
import { expectPromise, ask, untilEnd, uniquePrompt } from './generations.ts';
import type { Darkroom } from './darkroom.ts';

/** Runs `scenario` on a worker that kills itself there, then goes on with a healthy one; both end with the test. */
async function crashing(
  room: Darkroom,
  crashAt: string,
  scenario: (crashed: Promise<unknown>, next: () => Promise<Child>) => Promise<void>,
): Promise<void> {
  const worker = await room.startWorker(crashAt);
  const healthy: Child[] = [];
  try {
    await scenario(worker.ended, async () => {
      healthy[0] = await room.startWorker();
      return healthy[0];
    });
  } finally {
    await Promise.all([worker, ...healthy].map((child) => child.stop(3_000, 'SIGKILL')));
  }
}

/** A generation whose worker kills itself there; the next one ends it: one job, one capture, the same bytes. */
export async function expectSurvived(room: Darkroom, crashAt: string): Promise<void> {
  await crashing(room, crashAt, async (crashed, next) => {
    const asked = await ask(room, 'by-callback', uniquePrompt(crashAt), { deadline_seconds: 600 });
    await crashed;
    await next();
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });
}
