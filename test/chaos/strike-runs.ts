import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultContext } from './fault-context.ts';
import type { Chance } from './random.ts';
import type { Hit } from './strike.ts';

/** What an operator may do to runs in the Temporal UI. */
export async function resetRuns({ stack, endedRuns }: FaultContext, chance: Chance): Promise<Hit> {
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
  return { detail: done.length === 0 ? 'no run was open' : done.join(', '), hits: done.length };
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

/** Rows that somebody else holds; or, by chance, a whole table, so that every session of every pool comes to wait: F-8. */
export async function holdLocks(context: FaultContext, chance: Chance, forMs: number): Promise<Hit> {
  const wholeTable = chance.hits(0.4);
  const client = await context.stack.sql.connect();
  // The server may crash under it.
  client.on('error', () => {});
  try {
    await client.query(`BEGIN; SET LOCAL lock_timeout = '3s'`);
    if (wholeTable) await client.query('LOCK TABLE generation IN ACCESS EXCLUSIVE MODE');
    const { rowCount } = await client.query(
      `SELECT id FROM generation WHERE completed_at IS NULL ORDER BY random() LIMIT 5 FOR UPDATE`,
    );
    const withAccount = chance.hits(0.5);
    if (withAccount) await client.query(`SELECT id FROM ledger_account WHERE name = 'ann' FOR UPDATE`);
    await sleep(forMs, undefined, { signal: context.signal }).catch(() => {});
    const { rows } = await client.query<{ count: number }>(
      `SELECT count(DISTINCT pid)::int AS count FROM pg_locks WHERE NOT granted`,
    );
    await client.query('ROLLBACK');
    const waiting = rows[0]?.count ?? 0;
    const what = wholeTable ? 'all generations' : `${rowCount} generations`;
    const detail = `${what}${withAccount ? ' and an account' : ''} for ${forMs} ms, ${waiting} sessions waited`;
    return { detail, hits: wholeTable ? waiting : (rowCount ?? 0) + waiting };
  } finally {
    client.release(true);
  }
}
