import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultContext } from './fault-context.ts';
import { APIS, type SlotName, type Step, WORKERS } from './plan.ts';
import { type Chance, seededChance } from './random.ts';
import type { Target } from './provider-faults.ts';
import { RECEIVER_MODES } from './receiver.ts';
import type { Group, Special } from './scenarios.ts';
import { cutLinks, delayLinks, loseAnswers } from './strike-links.ts';
import { holdLocks, resetRuns } from './strike-runs.ts';
import { loseSomeOutputs } from './partial-faults.ts';
import { askOnTheLastCredits, closeAnEndpoint, revokeTheKey } from './tenant-faults.ts';
import { wishToMeet } from './wishes.ts';

const TEN_MINUTES_MS = 600_000;

/** One fault that was done. */
export interface Hit {
  /** What exactly was done, for people. */
  readonly detail: string;
  /** How many it met: processes, sessions, connections, rows, webhooks, by its kind. 0 = nobody noticed. */
  readonly hits: number;
}

const once = (detail: string): Hit => ({ detail, hits: 1 });

/** Does one fault, and undoes it. */
export async function strike(context: FaultContext, step: Step): Promise<Hit> {
  const chance = seededChance(step.seed);
  const { stack } = context;
  const name = step.name as Group | Special;
  switch (name) {
    case 'worker':
    case 'api':
      return once(await killAndStart(context, step.slot ?? 'worker-1'));
    case 'term':
      return once(await roll(context, step.slot ?? 'worker-1'));
    case 'temporal':
      await stack.temporal.crash('kill', step.forMs);
      return once(`kill -9, down for ${step.forMs} ms`);
    case 'postgres': {
      const how = chance.pick(['immediate', 'kill'] as const);
      await stack.postgres.crash(how, step.forMs);
      return once(`${how}, down for ${step.forMs} ms`);
    }
    case 'cut':
      return cutLinks(context, chance, step.forMs);
    case 'delay':
      return delayLinks(context, chance, step.forMs);
    case 'ack-lost':
      return loseAnswers(context, chance, step.forMs);
    case 'terminate': {
      const { rowCount } = await stack.sql.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name LIKE 'darkroom%' AND pid <> pg_backend_pid()`,
      );
      return { detail: `${rowCount} sessions`, hits: rowCount ?? 0 };
    }
    case 'lock':
      return holdLocks(context, chance, step.forMs);
    case 'clock':
      return once(await shiftClock(context, chance, step));
    case 'disk':
      return fillDisk(context, step.forMs);
    case 'providers':
      return disturbProviders(context, context.targets, step.seed);
    case 'callbacks':
      return disturbProviders(context, ['callback'], step.seed);
    case 'receiver':
      return withReceiverMode(context, chance, step.forMs);
    case 'gone':
      return closeAnEndpoint(context, step.seed);
    case 'partial':
      return loseSomeOutputs(context, step.seed);
    case 'reset':
      return resetRuns(context, chance);
    case 'poor':
      return askOnTheLastCredits(context, step.seed);
    case 'revoke':
      return revokeTheKey(context);
  }
}

/** One more is asked for at each provider: of a short load few go to one provider, and fewer have the prompt that is meant. */
async function disturbProviders(
  { providerFaults, load }: FaultContext,
  targets: readonly Target[],
  seed: number,
): Promise<Hit> {
  const drawn = await providerFaults.draw(targets, seededChance(seed));
  for (const { provider, faults } of drawn) {
    const [first] = faults;
    const text = first?.match?.prompt ?? '';
    load.ask(wishToMeet(String(seed), provider, text, first?.kind.startsWith('cancel_') === true));
  }
  const said = drawn.map(({ provider, faults }) => `${provider} ${faults.map(({ kind }) => kind).join('+')}`);
  // Whether each of them strikes is counted at the end: it stays in force until then.
  return once(said.join(', '));
}

async function pause({ signal }: FaultContext, ms: number): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}

function killAndStart({ stack }: FaultContext, name: SlotName): Promise<string> {
  const slot = stack.slots[name];
  return slot.alone(async () => {
    await slot.kill();
    await slot.start();
    return name;
  });
}

/** An API and a worker at once, as a deployment replaces one machine. */
async function roll({ stack, violations }: FaultContext, name: SlotName): Promise<string> {
  const at = name.endsWith('1') ? 0 : 1;
  const names = [APIS[at], WORKERS[at]].filter((one) => one !== undefined);
  const ends = await Promise.all(
    names.map((one) =>
      stack.slots[one].alone(async () => {
        const end = await stack.slots[one].terminate();
        await stack.slots[one].start();
        return `${one} ${end}`;
      }),
    ),
  );
  for (const end of ends.filter((one) => !one.endsWith('in order'))) {
    violations.push({ check: 'SIGTERM ends a process in order', generation: null, problem: end });
  }
  return ends.join(', ');
}

/** It meets those that are being stored when it ends: what could be stored before it began is past. */
async function fillDisk(context: FaultContext, forMs: number): Promise<Hit> {
  const { stack } = context;
  await stack.disk.fill();
  await pause(context, forMs);
  const { rows } = await stack.sql
    .query<{ count: number }>(`SELECT count(*)::int AS count FROM generation WHERE stage = 'storing'`)
    .catch(() => ({ rows: [] }));
  await stack.disk.free();
  const hits = rows[0]?.count ?? 0;
  return { detail: `full for ${forMs} ms, ${hits} were being stored`, hits };
}

function shiftClock(context: FaultContext, chance: Chance, step: Step): Promise<string> {
  const name = step.slot ?? 'worker-1';
  const slot = context.stack.slots[name];
  const offsetMs = chance.pick([-TEN_MINUTES_MS, TEN_MINUTES_MS]);
  return slot.alone(async () => {
    await slot.kill();
    await slot.start({ clockOffsetMs: offsetMs });
    await pause(context, step.forMs);
    await slot.setClock(0);
    return `${name} off by ${offsetMs / 60_000} minutes for ${step.forMs} ms`;
  });
}

async function withReceiverMode(context: FaultContext, chance: Chance, forMs: number): Promise<Hit> {
  const { receiver } = context.stack;
  const before = receiver.disturbed;
  receiver.mode = chance.pick(RECEIVER_MODES);
  await pause(context, forMs);
  const { mode } = receiver;
  receiver.mode = null;
  const hits = receiver.disturbed - before;
  return { detail: `${mode} for ${forMs} ms, ${hits} webhooks`, hits };
}
