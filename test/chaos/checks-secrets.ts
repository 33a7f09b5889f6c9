import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { listRuns, readHistory } from '../../src/temporal/histories.ts';
import { inParallel, promptText, type Books, type Finding } from './open-books.ts';

const HISTORIES = 200;
/** At most so many lines of one kind are told. */
const LINES = 10;
/** What a process says that ends by a defect of ours. */
const CRASH =
  /unhandled|uncaught|\b(Type|Reference|Range|Syntax|Assertion)Error\b|FATAL ERROR|heap out of memory|^Node\.js v\d/i;

/** What nobody may see, in all that is written down; and processes that ended by themselves. */
export async function checkSecrets(books: Books): Promise<Finding[]> {
  return [...(await inLogs(books)), ...(await inHistories(books)), ...inWebhooks(books)];
}

async function inLogs({ world }: Books): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const entry of await readdir(world.logs, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const isOurs = /api|worker/.test(basename(file));
    let number = 0;
    let told = 0;
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      number += 1;
      const check = secretIn(line, world.secrets)
        ? 'no secret is in a log'
        : isOurs && CRASH.test(line)
          ? 'no process fails by itself'
          : null;
      if (check === null || told >= LINES) continue;
      told += 1;
      const generation = /gen_[0-9a-z]+/.exec(line)?.[0] ?? null;
      // The text itself stays in its file: it may be the secret.
      const what = check === 'no secret is in a log' ? '' : `: ${line.slice(0, 300)}`;
      findings.push({ check, generation, problem: `${basename(file)}, line ${number}${what}` });
    }
  }
  return findings;
}

function secretIn(text: string, secrets: readonly string[]): boolean {
  return secrets.some((secret) => secret !== '' && text.includes(secret));
}

/** Histories hold ids, codes and numbers only: no secret, no prompt, no address. */
async function inHistories({ temporal, world, rowOf }: Books): Promise<Finding[]> {
  const runs: { generationId: string; runId: string }[] = [];
  for await (const run of listRuns(temporal, `StartTime > '2020-01-01T00:00:00Z'`)) runs.push(run);
  const step = Math.max(1, Math.floor(runs.length / HISTORIES));
  const sample = runs.filter((_, at) => at % step === 0).slice(0, HISTORIES);
  const findings: Finding[] = [];
  await inParallel(sample, async ({ generationId, runId }) => {
    const text = textOf(await readHistory(temporal, generationId, runId));
    const row = rowOf.get(generationId);
    const found = [
      ...(secretIn(text, world.secrets) ? ['a secret'] : []),
      ...(row !== undefined && text.includes(promptText(row)) ? ['the prompt'] : []),
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

function inWebhooks({ world }: Books): Finding[] {
  return world.received
    .filter(({ data }) => secretIn(JSON.stringify(data), world.secrets))
    .map(({ generationId, id }) => ({
      check: 'no secret is in a webhook',
      generation: generationId,
      problem: id,
    }));
}
