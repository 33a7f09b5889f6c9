import { checkAnswers } from './checks-answers.ts';
import { checkCancels } from './checks-cancels.ts';
import { checkCredits } from './checks-credits.ts';
import { checkEnds } from './checks-ends.ts';
import { checkFiles } from './checks-files.ts';
import { checkJobs } from './checks-jobs.ts';
import { checkLate } from './checks-late.ts';
import { checkSecrets } from './checks-secrets.ts';
import { checkStates } from './checks-states.ts';
import { checkUnresolved } from './checks-unresolved.ts';
import { checkWebhooks } from './checks-webhooks.ts';
import { openBooks } from './open-books.ts';
import { tellStory } from './story.ts';
import type { Violation, World } from './types.ts';

/** The last runs close, and Temporal's lists follow, a moment after the rows. */
const RUNS_MS = 60_000;
const STORIES = 20;

/**
 * Compares the three books: our database, the simulators' journals, the tenant's received webhooks. Empty = the promise
 * held. The first generations that are named come with their story.
 * @throws when a book can't be read
 */
export async function checkBooks(
  world: World,
  options: { readonly runsMs?: number } = {},
): Promise<Violation[]> {
  const books = await openBooks(world);
  try {
    const findings = [
      ...checkAnswers(books),
      ...(await checkJobs(books)),
      ...checkUnresolved(books),
      ...checkEnds(books),
      ...checkLate(books),
      ...checkCancels(books),
      ...(await checkCredits(books)),
      ...(await checkStates(books, options.runsMs ?? RUNS_MS)),
      ...(await checkFiles(books)),
      ...(await checkWebhooks(books)),
      ...(await checkSecrets(books)),
    ];
    const stories = new Map<string, string>();
    for (const { generation } of findings) {
      if (generation === null || stories.has(generation) || stories.size >= STORIES) continue;
      stories.set(generation, await tellStory(books, generation));
    }
    return findings.map((finding) => {
      const story = stories.get(finding.generation ?? '');
      return { ...finding, ...(story === undefined ? {} : { story }) };
    });
  } finally {
    await books.close();
  }
}
