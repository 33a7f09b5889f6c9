import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { listRuns, readHistory } from '../../src/temporal/histories.ts';
import { inParallel, promptText, type Books, type Finding } from './open-books.ts';
import { Sought } from './sought.ts';

const HISTORIES = 200;
/** At most so many lines of one kind are told. */
const LINES = 10;
/** So many links and tokens are used once more before the logs are read. */
const USED = 5;
/** What a process says that ends by a defect of ours. */
const CRASH =
  /unhandled|uncaught|\b(Type|Reference|Range|Syntax|Assertion)Error\b|FATAL ERROR|heap out of memory|^Node\.js v\d/i;
/** What a worker says that finds an invariant violated under way (log-sweep-problem.ts). */
const VIOLATED = /"invariant_violated"/;

/** What nobody may see, in all that is written down; and processes that ended by themselves. */
export async function checkSecrets(books: Books): Promise<Finding[]> {
  await useTokens(books);
  return [...(await inLogs(books)), ...(await inHistories(books)), ...inWebhooks(books)];
}

/** So that there is a chance for them to be written down. */
async function useTokens({ world, views, watchTokens }: Books): Promise<void> {
  const links = [...views.values()].flatMap((view) =>
    typeof view === 'object' ? view.outputs.flatMap(({ url }) => url ?? []) : [],
  );
  const watched = [...watchTokens].map(
    ([id, token]) => `${world.apiUrl}/v1/generations/${id}?watch_token=${token}`,
  );
  await inParallel([...links.slice(0, USED), ...watched.slice(0, USED)], async (url) => {
    const answer = await fetch(url).catch(() => null);
    await answer?.arrayBuffer().catch(() => null);
  });
}

async function inLogs({ world, tokens }: Books): Promise<Finding[]> {
  const sought = new Sought({
    secrets: world.secrets,
    tokens,
    prompts: world.asked.map(({ prompt }) => prompt),
  });
  const findings: Finding[] = [];
  for (const entry of await readdir(world.logs, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const isOurs = /api|worker/.test(basename(file));
    let number = 0;
    let told = 0;
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      number += 1;
      const secret = sought.in(line);
      const check =
        secret !== null
          ? 'no secret is in a log'
          : isOurs && VIOLATED.test(line)
            ? 'no invariant is violated under way'
            : isOurs && CRASH.test(line)
              ? 'no process fails by itself'
              : null;
      if (check === null || told >= LINES) continue;
      told += 1;
      const generation = /gen_[0-9a-z]+/.exec(line)?.[0] ?? null;
      // The text itself stays in its file: it may be the secret.
      const what = secret ?? line.slice(0, 600);
      findings.push({ check, generation, problem: `${basename(file)}, line ${number}: ${what}` });
    }
  }
  return findings;
}

/** Histories hold ids, codes and numbers only: no secret, no prompt, no address. */
async function inHistories({ temporal, world, rowOf, tokens }: Books): Promise<Finding[]> {
  const sought = new Sought({ secrets: world.secrets, tokens, prompts: [] });
  const runs: { generationId: string; runId: string }[] = [];
  for await (const run of listRuns(temporal, `StartTime > '2020-01-01T00:00:00Z'`)) runs.push(run);
  const step = Math.max(1, Math.floor(runs.length / HISTORIES));
  const sample = runs.filter((_, at) => at % step === 0).slice(0, HISTORIES);
  const findings: Finding[] = [];
  await inParallel(sample, async ({ generationId, runId }) => {
    const text = textOf(await readHistory(temporal, generationId, runId));
    const row = rowOf.get(generationId);
    const secret = sought.in(text);
    const found = [
      ...(secret === null ? [] : [secret]),
      ...(row !== undefined && text.includes(promptText(row)) ? ['a prompt'] : []),
      ...(/https?:\/\//.test(text) ? ['an address'] : []),
    ];
    for (const what of found) {
      findings.push({
        check: 'no secret is in a history',
        generation: generationId,
        problem: `${what}, run ${runId}`,
      });
    }
  });
  return findings;
}

/** All texts of a history, those inside of payloads too. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return `${value}\n`;
  if (value instanceof Uint8Array) return `${Buffer.from(value).toString('utf8')}\n`;
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).map(textOf).join('');
}

/** The tenant's own prompt and its links are for it to see. */
function inWebhooks({ world }: Books): Finding[] {
  const sought = new Sought({ secrets: world.secrets, tokens: [], prompts: [] });
  return world.received
    .filter(({ data }) => sought.in(JSON.stringify(data)) !== null)
    .map(({ generationId, id }) => ({
      check: 'no secret is in a webhook',
      generation: generationId,
      problem: id,
    }));
}
