import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../src/dev/child.ts';
import type { Parts } from '../../src/dev/parts.ts';
import { checkBooks } from './books.ts';
import { Client } from './client.ts';
import type { FaultContext } from './fault-context.ts';
import { Lanes } from './lanes.ts';
import { Load } from './load.ts';
import type { ChaosOptions } from './options.ts';
import { drawPlan } from './plan.ts';
import { ProviderFaults } from './provider-faults.ts';
import { seededChance } from './random.ts';
import { type ChaosStack, startChaosStack } from './stack.ts';
import { makeTenant, type Tenant } from './tenant.ts';
import type { Violation, World } from './types.ts';
import { Watch } from './watch.ts';
import { drawWishes } from './wishes.ts';

/** From the end of the last fault until everything has ended: the longest deadline, and what may follow it. */
const ENDED_MS = 180_000;
/** From then until every webhook is there: the longest wait of its schedule that faults may have led to. */
const DELIVERED_MS = 180_000;
/** The last observations after the end, so that the books are no longer written to. */
const SETTLE_MS = 1_000;

/** What `--json` prints. */
export interface ChaosReport {
  readonly seed: number;
  /** Asked for, also those that were refused. */
  readonly generations: number;
  readonly kills: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly points: Readonly<Record<string, number>>;
  readonly violations: readonly Violation[];
  readonly recovered_p95_ms: number | null;
  readonly recovered_within_15s: number | null;
  readonly states: Readonly<Record<string, number>>;
  /** Error codes of those that ended without success. */
  readonly errors: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly refused: Readonly<Record<string, number>>;
}

/** A whole run: the stack, load and faults, the rest, the books. What it starts is in `parts`. */
export async function runChaos(
  options: ChaosOptions,
  dataDir: string,
  parts: Parts,
  say: (line: string) => void,
): Promise<ChaosReport> {
  const { seed, generations, scenario, minutes, kills } = options;
  const stack = await startChaosStack(dataDir, parts, say);
  const tenant = await makeTenant(stack, generations);
  const startedMs = performance.now();
  const chance = seededChance(seed);
  const stop = new AbortController();
  parts.add(() => Promise.resolve(stop.abort()));
  const client = new Client(stack.apiUrls, tenant.keys[0].text);
  const load: Load = new Load({
    client,
    wishes: drawWishes(chance.fork('load'), seed, generations, scenario.load),
    webhookUrl: stack.webhookUrl,
    progress: () => lanes.progress,
    open: () => watch.open,
    signal: stop.signal,
  });
  const watch = new Watch(stack, () => load.asked);
  const providerFaults = new ProviderFaults(stack.simulators);
  await providerFaults.begin();
  const context: FaultContext = {
    stack,
    tenant,
    client,
    load,
    providerFaults,
    violations: [],
    endedRuns: [],
    signal: stop.signal,
  };
  const inTime = (line: string) => {
    const second = Math.round((performance.now() - startedMs) / 1_000);
    say(`${String(second).padStart(5)} s  ${load.asked.length} asked, ${watch.open} open  ${line}`);
  };
  const lanes = new Lanes({
    context,
    plan: drawPlan(chance.fork('plan'), { scenario, kills, minutes }),
    minutes,
    say: inTime,
    ended: () => watch.faultEnded(),
  });
  parts.add(() => Promise.resolve(watch.stop()));
  void watch.run();
  await Promise.all([load.run(), lanes.run()]);
  await load.answered();

  inTime('all is asked for and every fault is over: waiting for the rest');
  await rest(stack, context, watch);
  inTime('reading the books');
  const violations = [
    ...context.violations,
    ...Object.values(stack.slots).flatMap(({ ownEnds }) =>
      ownEnds.map((problem) => ({ check: 'no process ends by itself', generation: null, problem })),
    ),
    ...(await checkBooks(worldOf(seed, stack, tenant, context, lanes))),
  ];
  const { p95Ms, within15s } = watch.recovery();
  watch.stop();
  return {
    seed,
    generations: load.asked.length,
    kills: lanes.kills,
    faults: lanes.faults,
    points: lanes.points,
    violations,
    recovered_p95_ms: p95Ms,
    recovered_within_15s: within15s,
    states: await countBy(stack, 'state'),
    errors: await countBy(stack, 'error_code'),
    seconds: Math.round((performance.now() - startedMs) / 1_000),
    refused: client.refused,
  };
}

/** Nothing is broken any more: everything must come to its end. */
async function rest(stack: ChaosStack, { violations }: FaultContext, watch: Watch): Promise<void> {
  for (const link of stack.links) link.heal();
  stack.receiver.mode = null;
  await stack.disk.free();
  await Promise.all(
    Object.values(stack.slots).map((slot) =>
      slot.alone(async () => {
        if (!slot.isRunning) await slot.start();
      }),
    ),
  );
  await watch.faultEnded();
  const none = (sql: string) => async () => {
    const { rows } = await stack.sql.query<{ count: number }>(sql).catch(() => ({ rows: [] }));
    return rows[0]?.count === 0;
  };
  const open = none('SELECT count(*)::int AS count FROM generation WHERE completed_at IS NULL');
  if (!(await waitUntil(open, { timeoutMs: ENDED_MS, everyMs: 250 }))) {
    const { rows } = await stack.sql.query<{ id: string; stage: string }>(
      'SELECT id, stage FROM generation WHERE completed_at IS NULL',
    );
    for (const { id, stage } of rows) {
      const problem = `is still ${stage} ${ENDED_MS / 1_000} s after the last fault`;
      violations.push({ check: 'every accepted generation ends', generation: id, problem });
    }
  }
  const pending = none(`SELECT count(*)::int AS count FROM webhook_delivery WHERE state = 'pending'`);
  if (!(await waitUntil(pending, { timeoutMs: DELIVERED_MS, everyMs: 250 }))) {
    const { rows } = await stack.sql.query<{ id: string; attempts: number }>(
      `SELECT event_id AS id, attempts FROM webhook_delivery WHERE state = 'pending'`,
    );
    for (const { id, attempts } of rows) {
      const problem = `webhook ${id} is not delivered after ${attempts} attempts`;
      violations.push({ check: 'every webhook is delivered', generation: null, problem });
    }
  }
  await sleep(SETTLE_MS);
}

function worldOf(
  seed: number,
  stack: ChaosStack,
  { keys }: Tenant,
  { load, client, providerFaults, endedRuns }: FaultContext,
  { struck }: Lanes,
): World {
  return {
    seed,
    databaseUrl: stack.databaseUrl,
    apiUrl: stack.apiUrls[0] ?? '',
    temporalAddress: stack.temporalAddress,
    storageUrl: stack.storageUrl,
    simulators: stack.simulators,
    simulatorKeys: stack.simulatorKeys,
    providerFaults: providerFaults.byProvider,
    asked: load.asked,
    received: stack.receiver.received,
    struck,
    deaths: Object.values(stack.slots).flatMap(({ deaths }) => deaths),
    disturbed: stack.links.flatMap(({ disturbed }) => disturbed),
    endedRuns,
    oddAnswers: client.oddAnswers,
    logs: stack.logs,
    secrets: [...stack.secrets, ...keys.map(({ text }) => text), ...Object.values(stack.receiver.secrets)],
  };
}

async function countBy({ sql }: ChaosStack, column: 'state' | 'error_code'): Promise<Record<string, number>> {
  const { rows } = await sql.query<{ name: string; count: number }>(
    `SELECT ${column} AS name, count(*)::int AS count FROM generation WHERE ${column} IS NOT NULL GROUP BY 1 ORDER BY 1`,
  );
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
}
