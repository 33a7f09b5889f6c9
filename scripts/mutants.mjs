// npm run mutants: plants each seeded bug of test/mutants/*.json in a copy of this checkout, alone, and expects the test that is
// named with it to fail there. `-- --json` prints {planted, caught, survivors} as the last line; `--only a,b` plants some of them.
// Exit status 1 when one survives, when its text is not found exactly once, or when its test does not pass without it.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { MutantCopies } from '../test/support/mutant-copies.mjs';
import { verdict } from '../test/support/mutant-verdict.mjs';
import { prepareOrExit } from './prepare.mjs';
import { ROOT } from './tools.mjs';

/** Servers and compilers of two runs keep two cores busy. */
const AT_ONCE = 2;

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    folder: { type: 'string', default: join(ROOT, 'test', 'mutants') },
  },
});

await prepareOrExit();
const copies = new MutantCopies(ROOT);
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    copies.remove();
    process.exit(130);
  });
}
try {
  await main();
} finally {
  copies.remove();
}

async function main() {
  const mutants = readMutants(resolve(options.folder), options.only?.split(','));
  const misplaced = mutants.flatMap((mutant) => copies.misplaced(mutant));
  if (misplaced.length > 0) fail(misplaced);
  const tests = mutants.map(({ caughtBy }) => caughtBy);
  say(`${tests.length} mutants; first their tests as they are`);
  const healthy = await copies.run(null, tests);
  const unfit = tests.flatMap((test) => healthy.problemsOf(test));
  if (unfit.length > 0) fail([...new Set(unfit)]);
  const survived = new Set();
  const queue = [...mutants];
  await Promise.all(Array.from({ length: AT_ONCE }, () => plantAll(queue, survived)));
  const survivors = mutants.map(({ id }) => id).filter((id) => survived.has(id));
  const result = { planted: mutants.length, caught: mutants.length - survivors.length, survivors };
  if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  else
    process.stdout.write(
      `${result.planted} planted, ${result.caught} caught, ${survivors.length} survived\n`,
    );
  if (survivors.length > 0) process.exitCode = 1;
}

async function plantAll(queue, survived) {
  for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
    const run = await copies.run(mutant, [mutant.caughtBy]);
    const { caught, why } = verdict(mutant, run);
    say(`${caught ? 'caught  ' : 'SURVIVED'}  ${mutant.id}: ${caught ? mutant.breaks : why}`);
    if (!caught) survived.add(mutant.id);
  }
}

/** Every mutant of the folder, in the order of their files, checked for what this script needs. */
function readMutants(folder, only) {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .toSorted();
  const mutants = files.flatMap((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')));
  const seen = new Set();
  for (const { id, breaks, patches, caughtBy } of mutants) {
    const complete = [id, breaks, caughtBy?.file, caughtBy?.test].every(
      (value) => typeof value === 'string' && value !== '',
    );
    if (!complete || !Array.isArray(patches) || patches.length === 0 || seen.has(id)) {
      fail([`${folder}: "${id}" needs an id of its own, breaks, patches and caughtBy {file, test}`]);
    }
    seen.add(id);
  }
  const unknown = (only ?? []).filter((id) => !seen.has(id));
  if (unknown.length > 0)
    fail([`there is no mutant ${unknown.join(', ')}; there are: ${[...seen].join(', ')}`]);
  return only === undefined ? mutants : mutants.filter(({ id }) => only.includes(id));
}

function say(line) {
  process.stderr.write(`${line}\n`);
}

function fail(problems) {
  for (const problem of problems) say(problem);
  copies.remove();
  process.exit(1);
}
