import { createHash } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { Db } from '../db/index.ts';
import { runDoctor } from '../services/run-doctor.ts';
import { createStorage } from '../storage/index.ts';
import { waitUntil } from './child.ts';
import type { Sent } from './cluster-load.ts';
import type { ClusterStack } from './cluster-stack.ts';

/** One thing that must hold, and what was found where it does not. */
export interface Check {
  readonly name: string;
  /** Empty = it holds; at most ten. */
  readonly problems: readonly string[];
}

const EXAMPLES = 10;
/** The last runs close, and Temporal's lists follow, a moment after the rows. */
const RUNS_MS = 60_000;

interface Journal {
  readonly jobs: readonly { readonly id: string; readonly request_body: string }[];
}

/** All that must hold once every generation has ended. */
export async function checkRun(stack: ClusterStack, db: Db, sent: readonly Sent[]): Promise<Check[]> {
  const rows = await db.prisma.generation.findMany({
    select: {
      id: true,
      state: true,
      outputs: { select: { path: true, sha256: true, state: true, index: true } },
      submissions: { select: { providerJobId: true } },
    },
  });
  const answer = await fetch(`${stack.provider.url}/_sim/journal`);
  const { jobs } = (await answer.json()) as Journal;
  const byPrompt = new Map(sent.map(({ prompt }) => [prompt, 0]));
  for (const { request_body: body } of jobs) {
    const { prompt = '' } = JSON.parse(body) as { prompt?: string };
    byPrompt.set(prompt, (byPrompt.get(prompt) ?? 0) + 1);
  }
  const known = new Set(rows.map(({ id }) => id));
  return [
    check('every generation that was answered with 202 has its row, and no other is there', [
      ...sent.filter(({ id }) => !known.has(id)).map(({ id }) => `${id} has none`),
      ...(rows.length > sent.length ? [`${rows.length} rows for ${sent.length} generations`] : []),
    ]),
    check(
      'every generation succeeded',
      rows.filter(({ state }) => state !== 'succeeded').map(({ id, state }) => `${id} is ${state}`),
    ),
    check('every generation has exactly one terminal event', await wronglyEnded(db)),
    check(
      'the provider accepted one job for each',
      [...byPrompt].filter(([, count]) => count !== 1).map(([prompt, count]) => `${count} of "${prompt}"`),
    ),
    check('stored bytes are those of the provider', await otherBytes(stack, rows)),
    check('every invariant holds', await violated(stack, db)),
    check('every run is closed, and found by its search attributes', await openRuns(stack, sent.length)),
  ];
}

function check(name: string, problems: readonly string[]): Check {
  return { name, problems: problems.slice(0, EXAMPLES) };
}

async function wronglyEnded(db: Db): Promise<string[]> {
  const counts = await db.prisma.generationEvent.groupBy({
    by: ['generationId'],
    where: { type: 'terminal' },
    _count: true,
  });
  const generations = await db.prisma.generation.count();
  return [
    ...counts.filter(({ _count }) => _count !== 1).map((row) => `${row.generationId} has ${row._count}`),
    ...(counts.length === generations ? [] : [`${generations - counts.length} have none`]),
  ];
}

interface Row {
  readonly id: string;
  readonly outputs: readonly {
    readonly path: string | null;
    readonly sha256: Uint8Array | null;
    readonly index: number;
  }[];
  readonly submissions: readonly { readonly providerJobId: string | null }[];
}

async function otherBytes({ provider, storageUrl }: ClusterStack, rows: readonly Row[]): Promise<string[]> {
  const storage = createStorage(storageUrl);
  const problems: string[] = [];
  for (const { id, outputs, submissions } of rows) {
    const jobId = submissions[0]?.providerJobId ?? null;
    const path = outputs[0]?.path ?? null;
    if (path === null || jobId === null || submissions.length > 1) {
      problems.push(`${id} has ${submissions.length} submissions and ${outputs.length} outputs`);
      continue;
    }
    const expected = await originalSha256(provider, jobId, `${outputs[0]?.index}.mp4`);
    const stored = (await storage.stat(path))?.sha256;
    if (expected === null || stored !== expected)
      problems.push(`${id}: ${stored ?? 'no file'}, not ${expected}`);
  }
  return problems;
}

/** Hash in hex of a file that a simulator's job made; null when it gives none. */
export async function originalSha256(
  { url, apiKey }: { readonly url: string; readonly apiKey: string },
  jobId: string,
  file: string,
): Promise<string | null> {
  const answer = await fetch(`${url}/files/${jobId}/${file}`, {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  return answer.ok ? createHash('sha256').update(bytes).digest('hex') : null;
}

async function violated({ storageUrl }: ClusterStack, db: Db): Promise<string[]> {
  const results = await runDoctor({ db, storage: createStorage(storageUrl) });
  return results
    .filter(({ violations }) => violations > 0)
    .map(({ name, violations, examples }) => `${name}: ${violations} (${examples.join(', ')})`);
}

async function openRuns({ temporal }: ClusterStack, generations: number): Promise<string[]> {
  const count = async (query: string) => (await countRuns(temporal.client, query)) ?? -1;
  let open = -1;
  let found = -1;
  const settled = async () => {
    open = await count(`ExecutionStatus = "Running" AND WorkflowType = "generateMedia"`);
    found = await count(`GenerationState = "succeeded" AND ExecutionStatus = "Completed"`);
    return open === 0 && found >= generations;
  };
  if (await waitUntil(settled, { timeoutMs: RUNS_MS, everyMs: 500 })) return [];
  return [`${open} runs are open, ${found} of ${generations} are found as succeeded`];
}

async function countRuns(client: Client, query: string): Promise<number | null> {
  return client.workflow.count(query).then(
    ({ count }) => count,
    () => null,
  );
}
