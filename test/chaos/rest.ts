import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../src/dev/child.ts';
import { Control } from '../simulators/control.ts';
import type { FaultContext } from './fault-context.ts';
import type { ChaosStack } from './stack.ts';
import type { Violation } from './types.ts';

/** From the end of the last fault until everything has ended: the longest deadline, and what may follow it. */
const ENDED_MS = 180_000;
/** From then until every webhook is there: the longest wait of its schedule that faults may have led to. */
const DELIVERED_MS = 180_000;
/** The last observations after the end, so that the books are no longer written to. */
const SETTLE_MS = 1_000;

/** Nothing is broken any more: everything must come to its end. `ended` is told when all is whole again. */
export async function rest({ stack, violations }: FaultContext, ended: () => Promise<void>): Promise<void> {
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
  await ended();
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

/** The events of these generations by their rows. */
export async function eventsOf(
  { sql }: ChaosStack,
  ids: readonly string[],
): Promise<Map<string, { seq: number; type: string }[]>> {
  const { rows } = await sql.query<{ id: string; seq: number; type: string }>(
    'SELECT generation_id AS id, seq, type FROM generation_event WHERE generation_id = ANY($1) ORDER BY 1, 2',
    [ids],
  );
  const byId = new Map<string, { seq: number; type: string }[]>();
  for (const { id, seq, type } of rows) byId.set(id, [...(byId.get(id) ?? []), { seq, type }]);
  return byId;
}

/** What a provider read from the link to an uploaded image, against what was uploaded. */
export async function wrongInputs({ stack, load }: FaultContext): Promise<Violation[]> {
  const found: Violation[] = [];
  for (const [prompt, uploaded] of load.uploaded) {
    const id = load.asked.find((one) => one.prompt === prompt)?.id ?? null;
    const words = prompt.slice(0, prompt.indexOf(';') + 1);
    for (const url of Object.values(stack.simulators)) {
      for (const { input } of (await new Control(url).journal(words)).jobs) {
        // A link that is cut or an API that is away gives a provider no file.
        const read = input?.sha256 ?? null;
        if (read === null || read === uploaded) continue;
        const problem = `uploaded ${uploaded}, the provider read ${read}`;
        found.push({ check: 'a provider reads what was uploaded', generation: id, problem });
      }
    }
  }
  return found;
}

/** Rows of generations, by what they have in this column. */
export async function countBy(
  { sql }: ChaosStack,
  column: 'state' | 'error_code' | 'delivery',
): Promise<Record<string, number>> {
  const { rows } = await sql.query<{ name: string; count: number }>(
    `SELECT ${column} AS name, count(*)::int AS count FROM generation WHERE ${column} IS NOT NULL GROUP BY 1 ORDER BY 1`,
  );
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
}
