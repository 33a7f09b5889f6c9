// Whether a run of named tests proves that a seeded bug is found.
import { existsSync, readFileSync } from 'node:fs';

/** Failures of the machinery or of the patch itself (a missing name, wrong SQL): they prove nothing. */
const BROKEN =
  /SyntaxError|ReferenceError|is not a function|Cannot find module|Failed to load|Code: `(?:42|3F|0A)|timed out in/;

/** The results of one run, by test. */
export class MutantRun {
  #results;
  #output;

  /**
   * @param {string} report vitest's JSON report; may be missing when vitest did not get so far
   * @param {string} output what it printed
   */
  constructor(report, output) {
    this.#output = output;
    this.#results = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults : [];
  }

  /** All results of this name in this file: {status, failureMessages}. */
  resultsOf({ file, test }) {
    return this.#results
      .filter(({ name }) => name.replaceAll('\\', '/').endsWith(`/${file}`))
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ ancestorTitles, title }) => [...ancestorTitles, title].join(' > ') === test);
  }

  /** What is wrong with a test that should pass: it is missing, is there twice, or fails. */
  problemsOf(named) {
    const results = this.resultsOf(named);
    const say = (problem) => [`${named.file} "${named.test}" ${problem}`];
    if (results.length === 0) return say(`was not run\n${this.#output.slice(-2_000)}`);
    if (results.length > 1) return say('is there more than once');
    const [{ status, failureMessages }] = results;
    return status === 'passed' ? [] : say(`is ${status} without a mutant: ${failureMessages.join('\n')}`);
  }
}

/** Caught only when the named test itself failed, for a reason of its own, and says what it must. */
export function verdict({ caughtBy }, run) {
  const [result] = run.resultsOf(caughtBy);
  if (result === undefined) return { caught: false, why: `"${caughtBy.test}" was not run` };
  if (result.status !== 'failed') return { caught: false, why: `"${caughtBy.test}" is ${result.status}` };
  const messages = result.failureMessages.join('\n');
  const broken = BROKEN.exec(messages);
  if (broken !== null)
    return { caught: false, why: `nothing is proved by ${broken[0]}: ${messages.slice(0, 500)}` };
  if (caughtBy.says !== undefined && !messages.includes(caughtBy.says)) {
    return { caught: false, why: `the failure does not say "${caughtBy.says}": ${messages.slice(0, 500)}` };
  }
  return { caught: true, why: '' };
}
