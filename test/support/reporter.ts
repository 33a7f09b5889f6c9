import { writeSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule, Vitest } from 'vitest/node';

/**
 * Prints `N passed, N failed` as the very last line of stdout. A skipped test counts as failed, unless `-t` chose the
 * tests by name, and so does a file or a set-up that breaks: a run that proves nothing can't pass.
 */
export default class LastLineReporter implements Reporter {
  #passed = 0;
  #failed = 0;
  #chosenByName = false;

  onInit(vitest: Vitest): void {
    // Tells scripts/test.mjs that the line is our business from here on.
    Object.assign(globalThis, { [Symbol.for('darkroom.reporter')]: true });
    this.#chosenByName = vitest.config.testNamePattern !== undefined;
    // Vitest ends its own report, and the servers of the set-up, after the last hook of a reporter.
    process.once('exit', (code) => this.#printLastLine(code));
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    this.#passed = 0;
    this.#failed = errors.length;
    for (const module of modules) {
      let failedHere = 0;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') this.#passed++;
        else if (state !== 'skipped' || !this.#chosenByName) failedHere++;
      }
      // A file that could not be loaded, or whose hooks failed, fails even when no test of it does.
      if (failedHere === 0 && module.state() === 'failed') failedHere = 1;
      this.#failed += failedHere;
    }
  }

  #printLastLine(code: number): void {
    if (this.#passed + this.#failed === 0 || (code !== 0 && this.#failed === 0)) this.#failed++;
    if (this.#failed > 0) process.exitCode = code === 0 ? 1 : code;
    writeSync(1, `${this.#passed} passed, ${this.#failed} failed\n`);
  }
}
