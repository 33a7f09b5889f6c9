import {
  CancellationScope,
  condition,
  log,
  patched,
  setDefaultSignalHandler,
  setHandler,
} from '@temporalio/workflow';
import { wakeSignal } from './messages.ts';
import type { WakeReason } from './messages.ts';

const CANCEL_BEFORE_FIRST_TASK = 'cancel-before-first-task';

/** What has asked for the run's attention: wakes, and Cancel pressed in the Temporal UI, which is a wake too. */
export class Inbox {
  #reason: WakeReason | null = null;
  #cancelPressed = false;

  /** Call once, before the first await and outside of any shielded scope. */
  listen(): void {
    setHandler(wakeSignal, ({ reason }) => {
      this.#reason = reason;
    });
    // A name that nobody handles would be dropped without a word: it is a wake all the same, and said.
    setDefaultSignalHandler((name) => {
      log.warn('unknown signal taken as a wake', { name });
      this.#reason = 'operator';
    });
    const pressed = (): void => {
      this.#cancelPressed = true;
      this.#reason = 'operator';
    };
    const scope = CancellationScope.current();
    // Before the first task it is told by no event that the first step would wait for: that step would send the job.
    if (scope.consideredCancelled && patched(CANCEL_BEFORE_FIRST_TASK)) pressed();
    else scope.cancelRequested.catch(pressed);
  }

  get woken(): boolean {
    return this.#reason !== null;
  }

  /** Of the wake that no step has taken yet. */
  get reason(): WakeReason | null {
    return this.#reason;
  }

  /** By that wake, or by Cancel pressed in the Temporal UI. */
  get cancelAsked(): boolean {
    return this.#cancelPressed || this.#reason === 'cancel';
  }

  /** Taken by the step that is about to read the rows. Cancel stays pressed until a step has carried it there. */
  take(): { readonly reason: WakeReason | null; readonly cancelPressed: boolean } {
    const taken = { reason: this.#reason, cancelPressed: this.#cancelPressed };
    this.#reason = null;
    return taken;
  }

  /** The step that carried Cancel has ended well: it stands in the row. */
  cancelWritten(): void {
    this.#cancelPressed = false;
  }

  /** Until woken, or for this long. */
  async wait(ms: number, summary: string): Promise<void> {
    if (!this.woken && ms > 0) await condition(() => this.woken, ms, { summary });
  }

  /** Until woken, however long. */
  async waitForWake(): Promise<void> {
    await condition(() => this.woken);
  }
}
