import type { Parts } from '../../src/dev/parts.ts';
import { checkBooks } from './books.ts';
import { Client } from './client.ts';
import { deleteSome } from './deletions.ts';
import type { FaultContext } from './fault-context.ts';
import { Lanes } from './lanes.ts';
import { Load } from './load.ts';
import type { ChaosOptions } from './options.ts';
import { partialPrices } from './partial-faults.ts';
import { drawPlan } from './plan.ts';
import { type ProviderFaultCounts, ProviderFaults } from './provider-faults.ts';
import { seededChance } from './random.ts';
import { Reader } from './reader.ts';
import { belowBar } from './recovery.ts';
import { countBy, eventsOf, rest, wrongInputs } from './rest.ts';
import { type ChaosStack, startChaosStack } from './stack.ts';
import { Streams } from './streams.ts';
import { makeTenant, type Tenant } from './tenant.ts';
import type { Violation, World } from './types.ts';
import { Watch } from './watch.ts';
import { drawWishes } from './wishes.ts';

/** What `--json` prints. */
export interface ChaosReport {
  readonly seed: number;
  /** Asked for, also those that were refused. */
  readonly generations: number;
  readonly kills: number;
  /** How often each one struck: it met somebody. */
  readonly faults: Readonly<Record<string, number>>;
  /** How often each one was done and met nobody. */
  readonly missed: Readonly<Record<string, number>>;
  readonly points: Readonly<Record<string, number>>;
  /** Of `providers` and `callbacks`: by kind. */
  readonly provider_faults: ProviderFaultCounts;
  readonly violations: readonly Violation[];
  /** From the first end of a fault since a step was due until it went on. */
  readonly recovered_p95_ms: number | null;
  readonly recovered_within_15s: number | null;
  /** From the last such end. */
  readonly recovered_since_last_p95_ms: number | null;
  readonly recovered: number;
  readonly states: Readonly<Record<string, number>>;
  /** Of their outputs: `partial` = some were lost. */
  readonly deliveries: Readonly<Record<string, number>>;
  /** Error codes of those that ended without success. */
  readonly errors: Readonly<Record<string, number>>;
  /** What the tenant read meanwhile, by what it asked for. */
  readonly read: Readonly<Record<string, number>>;
  /** How often every invariant was checked in the middle of the run. */
  readonly invariants_checked: number;
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
  const { signal } = stop;
  parts.add(() => Promise.resolve(stop.abort()));
  const client = new Client(stack.clientUrls, tenant.keys[0].text);
  const load: Load = new Load({
    client,
    wishes: drawWishes(chance.fork('load'), seed, generations, scenario.load),
    webhookUrl: stack.webhookUrl,
    progress: () => lanes.progress,
    open: () => watch.open,
    signal,
  });
  const asked = () => load.asked;
  const watch = new Watch(stack, asked);
  const reader = new Reader({ client, asked, chance: chance.fork('reader'), signal });
  const streams = new Streams({ client, asked, chance: chance.fork('streams'), signal });
  const providerFaults = new ProviderFaults(stack.simulators);
  await providerFaults.begin();
  const context: FaultContext = {
    stack,
    tenant,
    client,
    load,
    providerFaults,
    targets: scenario.targets,
    partials: [],
    violations: [],
    endedRuns: [],
    signal,
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
  const reading = Promise.all([reader.run(), streams.run()]);
  await Promise.all([load.run(), lanes.run()]);
  await load.answered();

  inTime('all is asked for and every fault is over: waiting for the rest');
  await rest(context, () => watch.faultEnded());
  await Promise.all([reader.finish(), streams.finish((ids) => eventsOf(stack, ids))]);
  await reading;
  await watch.checkNow();
  watch.stop();
  inTime('reading the books');
  const found: Violation[] = [
    ...context.violations,
    ...watch.violations,
    ...reader.violations,
    ...streams.violations,
    ...(await partialPrices(context)),
    ...(await wrongInputs(context)),
    ...(await checkBooks(worldOf(seed, stack, tenant, context, lanes))),
  ];
  const [states, deliveries] = [await countBy(stack, 'state'), await countBy(stack, 'delivery')];
  inTime('deleting some outputs');
  const { strict, sinceLast } = watch.clock;
  // Only where load and faults are spread over minutes: else the next fault comes before anything could go on.
  const below = minutes === null ? null : belowBar(strict);
  const violations = [
    ...found,
    ...(await deleted(context)),
    ...Object.values(stack.slots).flatMap(({ ownEnds }) =>
      ownEnds.map((problem) => ({ check: 'no process ends by itself', generation: null, problem })),
    ),
    ...(below === null ? [] : [{ check: 'what was due goes on in time', generation: null, problem: below }]),
  ];
  return {
    seed,
    generations: load.asked.length,
    kills: lanes.kills,
    faults: lanes.faults,
    missed: lanes.missed,
    points: lanes.points,
    provider_faults: await providerFaults.counts(),
    violations,
    recovered_p95_ms: strict.p95Ms,
    recovered_within_15s: strict.within15s,
    recovered_since_last_p95_ms: sinceLast.p95Ms,
    recovered: strict.count,
    states,
    deliveries,
    errors: await countBy(stack, 'error_code'),
    read: { ...reader.read, streams: streams.count, streams_resumed: streams.resumed },
    invariants_checked: watch.checked,
    seconds: Math.round((performance.now() - startedMs) / 1_000),
    refused: client.refused,
  };
}

/** Answers that no client should see belong to it too: the books were read before. */
async function deleted({ stack, client, signal }: FaultContext): Promise<Violation[]> {
  const before = client.oddAnswers.length;
  const found = await deleteSome(stack, client, signal);
  const odd = client.oddAnswers.slice(before).map(({ request, status, body }) => ({
    check: 'no answer is odd',
    generation: null,
    problem: `${request}: ${status} ${body}`,
  }));
  return [...found, ...odd];
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
