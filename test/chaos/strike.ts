import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultContext } from './fault-context.ts';
import { APIS, type SlotName, type Step, WORKERS } from './plan.ts';
import type { Link } from './proxy.ts';
import { type Chance, seededChance } from './random.ts';
import { RECEIVER_MODES } from './receiver.ts';
import type { Group, Special } from './scenarios.ts';
import { askOnTheLastCredits, revokeTheKey } from './tenant-faults.ts';

const TEN_MINUTES_MS = 600_000;
/** The functions whose commit a caller may not hear of. */
const WRITES = [
  'create_generation',
  'claim_submission',
  'record_submission',
  'record_callback',
  'record_observation',
  'record_output',
  'settle',
  'request_cancel',
  'record_delivery_attempt',
];

/** Does one fault, and undoes it. @returns what exactly was done, for people */
export async function strike(context: FaultContext, step: Step): Promise<string> {
  const chance = seededChance(step.seed);
  const { stack } = context;
  const name = step.name as Group | Special;
  switch (name) {
    case 'worker':
    case 'api':
      return killAndStart(context, step.slot ?? 'worker-1');
    case 'term':
      return roll(context, step.slot ?? 'worker-1');
    case 'temporal':
      await stack.temporal.crash('kill', step.forMs);
      return `kill -9, down for ${step.forMs} ms`;
    case 'postgres': {
      const how = chance.pick(['immediate', 'kill'] as const);
      await stack.postgres.crash(how, step.forMs);
      return `${how}, down for ${step.forMs} ms`;
    }
    case 'cut':
      return cutLinks(context, chance, step.forMs);
    case 'delay':
      return withLinks(
        pickLinks(stack.links, chance, 4),
        step.forMs,
        chance.whole(20, 400),
        (link, delayMs) => link.disturb({ delayMs }),
      );
    case 'ack-lost':
      return loseAnswers(context, chance, step.forMs);
    case 'terminate': {
      const { rowCount } = await stack.sql.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name LIKE 'darkroom%' AND pid <> pg_backend_pid()`,
      );
      return `${rowCount} sessions`;
    }
    case 'lock':
      return holdLocks(context, chance, step.forMs);
    case 'clock':
      return shiftClock(context, chance, step);
    case 'disk':
      await stack.disk.fill();
      await pause(context, step.forMs);
      await stack.disk.free();
      return `full for ${step.forMs} ms`;
    case 'providers':
    case 'callbacks':
      return context.providerFaults.add(name, chance);
    case 'receiver':
      stack.receiver.mode = chance.pick(RECEIVER_MODES);
      await pause(context, step.forMs);
      return endReceiverMode(context, step.forMs);
    case 'reset':
      return resetRuns(context, chance);
    case 'poor':
      return askOnTheLastCredits(context, step.seed);
    case 'revoke':
      return revokeTheKey(context);
  }
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

function pickLinks(links: readonly Link[], chance: Chance, most: number): Link[] {
  return chance.shuffle(links).slice(0, chance.whole(1, most));
}

async function withLinks<T>(
  links: readonly Link[],
  forMs: number,
  how: T,
  disturb: (link: Link, how: T) => void,
): Promise<string> {
  for (const link of links) disturb(link, how);
  await sleep(forMs);
  for (const link of links) link.heal();
  return `${links.map(({ name }) => name).join(', ')}: ${String(how)} for ${forMs} ms`;
}

function cutLinks({ stack }: FaultContext, chance: Chance, forMs: number): Promise<string> {
  const how = chance.pick(['once', 'refused', 'up', 'down'] as const);
  return withLinks(pickLinks(stack.links, chance, 3), how === 'once' ? 0 : forMs, how, (link) => {
    if (how === 'once') link.cut();
    else link.disturb(how === 'refused' ? { refuse: true } : { stall: how });
  });
}

async function loseAnswers({ stack }: FaultContext, chance: Chance, forMs: number): Promise<string> {
  const inDatabase = chance.hits(0.6);
  const links = inDatabase ? stack.databaseLinks : pickLinks(stack.links, chance, 4);
  const before = links.reduce((sum, { answersLost }) => sum + answersLost, 0);
  const times = chance.whole(1, 3);
  const write = chance.pick(WRITES);
  const lost = inDatabase
    ? { request: new RegExp(`SELECT ${write}\\(`), times }
    : { afterBytes: chance.whole(0, 300), times };
  const said = await withLinks(links, forMs, inDatabase ? write : `${lost.afterBytes} bytes`, (link) =>
    link.loseAnswer(lost),
  );
  return `${said}, ${links.reduce((sum, { answersLost }) => sum + answersLost, 0) - before} lost`;
}

async function holdLocks(context: FaultContext, chance: Chance, forMs: number): Promise<string> {
  const client = await context.stack.sql.connect();
  // The server may crash under it.
  client.on('error', () => {});
  try {
    await client.query(`BEGIN; SET LOCAL lock_timeout = '3s'`);
    const { rowCount } = await client.query(
      `SELECT id FROM generation WHERE completed_at IS NULL ORDER BY random() LIMIT 5 FOR UPDATE`,
    );
    const withAccount = chance.hits(0.5);
    if (withAccount) await client.query(`SELECT id FROM ledger_account WHERE name = 'ann' FOR UPDATE`);
    await pause(context, forMs);
    await client.query('ROLLBACK');
    return `${rowCount} generations${withAccount ? ' and an account' : ''} for ${forMs} ms`;
  } finally {
    client.release(true);
  }
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

function endReceiverMode({ stack }: FaultContext, forMs: number): string {
  const { mode } = stack.receiver;
  stack.receiver.mode = null;
  return `${mode} for ${forMs} ms`;
}

/** What an operator may do to runs in the Temporal UI. */
async function resetRuns({ stack, endedRuns }: FaultContext, chance: Chance): Promise<string> {
  const { rows } = await stack.sql.query<{ id: string }>(
    `SELECT id FROM generation WHERE completed_at IS NULL ORDER BY random() LIMIT 3`,
  );
  const done: string[] = [];
  for (const { id } of rows) {
    const how = chance.pick(['terminate', 'reset'] as const);
    const { workflow } = stack.temporalClient;
    try {
      const { runId } = await workflow.getHandle(id).describe();
      // Also where no answer comes.
      endedRuns.push(runId);
      if (how === 'terminate') await workflow.getHandle(id, runId).terminate('chaos');
      else await resetOne(stack.temporalClient, id, runId, chance);
      done.push(how);
    } catch {
      // It has ended meanwhile, or was not started yet.
    }
  }
  return done.length === 0 ? 'no run was open' : done.join(', ');
}

async function resetOne(
  client: FaultContext['stack']['temporalClient'],
  workflowId: string,
  runId: string,
  chance: Chance,
): Promise<void> {
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const tasks = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
  const task = chance.pick(tasks);
  await client.workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId, runId },
    workflowTaskFinishEventId: Number(task.eventId) as never,
    requestId: randomUUID(),
    reason: 'chaos',
  });
}
