import autocannon from 'autocannon';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { requestCancel } from '../../src/db/index.ts';
import { perSecond, ask } from './load.ts';
import { startPlain } from './plain-process.ts';
import type { BenchStack } from './stack.ts';
import { quantiles, ratioOf, rounded } from './statistics.ts';
import type { PartReport, Quantiles, Size } from './types.ts';

const CONNECTIONS = 10;
/** Beside those there are, so that reading finds enough rows. */
const ROWS = 24;
const KINDS = ['post', 'get', 'list'] as const;
type Kind = (typeof KINDS)[number];
type Who = 'ours' | 'bare';

interface Measured extends Quantiles {
  readonly perSecond: number;
}

interface Target {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Paths that are asked in turns. */
  readonly paths: readonly string[];
}

const BODY = JSON.stringify({
  model: 'infro-video',
  input: { prompt: 'a lighthouse in a storm', duration_seconds: 1 },
});

/** POST, GET and list against a bare Express and Prisma server with the same table. */
export async function measureRequests(
  stack: BenchStack,
  { rounds, requestSeconds, requestWarmSeconds }: Size,
): Promise<PartReport> {
  const databaseUrl = await copyTables(stack);
  const plan = await planOfOne(stack);
  const server = await startPlain(new URL('bare-server.ts', import.meta.url), [databaseUrl], {
    BARE_PLAN: plan,
  });
  try {
    const targets = { ours: await oursAt(stack), bare: await bareAt(server.url) };
    const measured: Record<Kind, Record<Who, Measured[]>> = {
      post: { ours: [], bare: [] },
      get: { ours: [], bare: [] },
      list: { ours: [], bare: [] },
    };
    const one = async (kind: Kind, who: Who, seconds: number) => {
      const target = targets[who][kind];
      if (kind !== 'post' || who !== 'ours') return fire(target, kind === 'post', seconds);
      return withoutWorker(stack, () => fire(target, true, seconds));
    };
    if (requestWarmSeconds > 0) {
      for (const kind of KINDS)
        for (const who of ['ours', 'bare'] as const) await one(kind, who, requestWarmSeconds);
    }
    for (let round = 0; round < rounds; round++) {
      stack.say(`  round ${round + 1} of ${rounds}: ${KINDS.join(', ')}, ${requestSeconds} s of each`);
      const order: readonly Who[] = round % 2 === 0 ? ['ours', 'bare'] : ['bare', 'ours'];
      for (const kind of KINDS)
        for (const who of order) measured[kind][who].push(await one(kind, who, requestSeconds));
    }
    return reportOf(measured);
  } finally {
    await server.stop();
  }
}

function reportOf(measured: Record<Kind, Record<Who, Measured[]>>): PartReport {
  const ratio = (kind: Kind) =>
    ratioOf(
      measured[kind].ours.map((ours, round) => ours.perSecond / (measured[kind].bare[round]?.perSecond ?? 0)),
    );
  return {
    ratios: {
      post_vs_bare_insert: ratio('post'),
      get_vs_bare_select: ratio('get'),
      list_vs_bare_select: ratio('list'),
    },
    latencies: { requests: measured },
  };
}

/** Our database as it is, without rows and without the rules that keep a row of a plain insert out. */
async function copyTables(stack: BenchStack): Promise<string> {
  const url = new URL(stack.emptyDatabaseUrl);
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    await client.query('ALTER TABLE generation DISABLE TRIGGER ALL');
  } finally {
    await client.end();
  }
  return url.href;
}

/** A plan as our rows have it, so that the bare row is as wide. */
async function planOfOne(stack: BenchStack): Promise<string> {
  const id = await ask(stack, stack.quiet);
  const { plan } = await stack.db.prisma.generation.findUniqueOrThrow({
    where: { id },
    select: { plan: true },
  });
  return JSON.stringify(plan);
}

async function oursAt(stack: BenchStack): Promise<Record<Kind, Target>> {
  const ids: string[] = [];
  await perSecond(ROWS, CONNECTIONS, async () => {
    const id = await ask(stack, stack.quiet);
    ids.push(id);
    await stack.settlements.of(id);
  });
  const headers = { authorization: `Bearer ${stack.quiet.key}` };
  const at = (paths: readonly string[]): Target => ({ url: stack.apiUrl, headers, paths });
  return {
    post: at(['/v1/generations']),
    get: at(ids.map((id) => `/v1/generations/${id}`)),
    list: at(['/v1/generations?limit=20']),
  };
}

async function bareAt(url: string): Promise<Record<Kind, Target>> {
  const ids: string[] = [];
  await perSecond(ROWS, CONNECTIONS, async () => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${url}/rows`, { method: 'POST', headers, body: BODY });
    if (answer.status !== 202) throw new Error(`the bare server: ${answer.status} ${await answer.text()}`);
    ids.push(((await answer.json()) as { id: string }).id);
  });
  const at = (paths: readonly string[]): Target => ({ url, headers: {}, paths });
  return { post: at(['/rows']), get: at(ids.map((id) => `/rows/${id}`)), list: at(['/rows']) };
}

/** As fast as ten connections go; longer where a busy machine has not answered once. @throws Error when not all were good */
async function fire(target: Target, posts: boolean, seconds: number): Promise<Measured> {
  for (let longer = seconds; longer < seconds * 8; longer *= 2) {
    const measured = await fireOnce(target, posts, longer);
    if (measured.count > 0) return measured;
  }
  throw new Error(`no answer of ${target.url}${target.paths[0]} within ${seconds * 4} s`);
}

async function fireOnce({ url, headers, paths }: Target, posts: boolean, seconds: number): Promise<Measured> {
  const times: number[] = [];
  let asked = 0;
  const setupRequest = (request: { headers?: Record<string, string>; path?: string }) => ({
    ...request,
    path: paths[asked++ % paths.length] ?? '/',
    ...(posts ? { headers: { ...request.headers, 'idempotency-key': randomUUID() } } : {}),
  });
  const request = posts
    ? { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: BODY }
    : { method: 'GET', headers: { ...headers } };
  const result = await new Promise<{ ok: number; bad: number; seconds: number }>((resolve, reject) => {
    const run = autocannon(
      { url, connections: CONNECTIONS, duration: seconds, requests: [{ ...request, setupRequest }] },
      (error, { '2xx': ok, non2xx, errors, timeouts, duration }) => {
        if (error !== null) reject(error);
        else resolve({ ok, bad: non2xx + errors + timeouts, seconds: duration });
      },
    );
    run.on('response', (_client: unknown, _status: number, _bytes: number, ms: number) => times.push(ms));
  });
  if (result.bad > 0)
    throw new Error(`${result.bad} of ${result.ok + result.bad} answers of ${url}${paths[0]} were bad`);
  return { ...quantiles(times), perSecond: rounded(result.ok / result.seconds) };
}

/**
 * Only answering and starting the run is measured: the worker stands still meanwhile. What was asked is then cancelled
 * in the rows and ended at Temporal, since running thousands of them would take the rest of the day.
 */
async function withoutWorker<T>(stack: BenchStack, run: () => Promise<T>): Promise<T> {
  const from = new Date();
  process.kill(stack.worker.pid, 'SIGSTOP');
  try {
    return await run();
  } finally {
    const tenantId = stack.quiet.id;
    const rows = await stack.db.prisma.generation.findMany({
      where: { tenantId, completedAt: null, createdAt: { gte: from } },
      select: { id: true },
    });
    const left = [...rows];
    await perSecond(rows.length, 16, async () => {
      const id = left.pop()?.id ?? '';
      await requestCancel(stack.db, { generationId: id, tenantId, actor: 'tenant' });
      // Where the run was not started yet, it finds its row ended.
      await stack.client.workflow
        .getHandle(id)
        .terminate('bench')
        .catch(() => undefined);
    });
    process.kill(stack.worker.pid, 'SIGCONT');
  }
}
