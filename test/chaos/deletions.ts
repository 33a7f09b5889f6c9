import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../src/dev/child.ts';
import type { GenerationView } from '../../src/domain/generation-view.ts';
import { type Client, isToBeTriedAgain } from './client.ts';
import type { ChaosStack } from './stack.ts';
import type { Violation } from './types.ts';

const MOST = 6;
const AGAIN_MS = 300;
const CUT_EVERY_MS = 150;
/** From the wish to the end of the files: they are looked for every few seconds. */
const GONE_MS = 60_000;
const CHECK = 'what was deleted is gone, and nothing else changes';

/**
 * The tenant deletes what some generations delivered while its links are cut and an API is killed: each wish is taken, the
 * links are dead at once, the files go, and status and credits stay. After the books were read, since it ends what they
 * compare. @returns what is wrong
 */
export async function deleteSome(
  stack: ChaosStack,
  client: Client,
  signal: AbortSignal,
): Promise<Violation[]> {
  const { rows } = await stack.sql.query<{ id: string; paths: string[] }>(
    `SELECT generation_id AS id, array_agg(path) AS paths FROM output WHERE state = 'stored' GROUP BY 1 ORDER BY 1 LIMIT $1`,
    [MOST],
  );
  const found: Violation[] = [];
  const wrong = (generation: string, problem: string) =>
    void found.push({ check: CHECK, generation, problem });
  const over = new AbortController();
  const cutting = (async () => {
    while (!AbortSignal.any([over.signal, signal]).aborted) {
      for (const link of stack.clientLinks) link.cut();
      await sleep(CUT_EVERY_MS);
    }
  })();
  const killed = stack.slots['api-1'].alone(async () => {
    await stack.slots['api-1'].kill();
    await stack.slots['api-1'].start();
  });
  try {
    for (const { id } of rows) {
      const path = `/v1/generations/${id}`;
      const before = await untilDone(client, signal, 'GET', path);
      const deleted = await untilDone(client, signal, 'DELETE', `${path}/outputs`);
      if (before === null || deleted === null) return found;
      const problem = await changed(before.view, deleted.view, deleted.status);
      if (problem !== null) wrong(id, problem);
    }
  } finally {
    over.abort();
    await Promise.all([cutting, killed]);
  }
  const root = fileURLToPath(stack.storageUrl);
  const left = () => rows.filter(({ paths }) => paths.some((path) => existsSync(join(root, path))));
  const stopped = () => signal.aborted;
  await waitUntil(() => Promise.resolve(left().length === 0), { timeoutMs: GONE_MS, everyMs: 250, stopped });
  if (!signal.aborted)
    for (const { id } of left()) wrong(id, `its files are there ${GONE_MS / 1_000} s after`);
  return found;
}

interface Told {
  readonly status: number;
  readonly view: GenerationView;
}

async function untilDone(
  client: Client,
  signal: AbortSignal,
  method: string,
  path: string,
): Promise<Told | null> {
  while (!signal.aborted) {
    const answer = await client.call(method, path);
    if (answer !== null && !isToBeTriedAgain(answer)) {
      return { status: answer.status, view: JSON.parse(answer.text) as GenerationView };
    }
    await sleep(AGAIN_MS);
  }
  return null;
}

/** What the wish made of it that it must not; null = nothing. */
async function changed(
  before: GenerationView,
  after: GenerationView,
  status: number,
): Promise<string | null> {
  const stays = ({ state, credits, error, completed_at: at }: GenerationView) =>
    JSON.stringify({ state, credits, error, at });
  if (status !== 202) return `it is answered with ${status}`;
  if (stays(before) !== stays(after)) return `${stays(before)} became ${stays(after)}`;
  const links = after.outputs.filter(({ url }) => url !== null).length;
  if (after.delivery !== 'expired' || links > 0) return `${after.delivery}, with ${links} links`;
  for (const { url } of before.outputs.filter((output) => output.url !== null)) {
    const answer = await fetch(url ?? '').catch(() => null);
    await answer?.arrayBuffer();
    if (answer !== null && ![404, 503].includes(answer.status)) return `its link answers ${answer.status}`;
  }
  return null;
}
