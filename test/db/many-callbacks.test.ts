import { describe, expect, it } from 'vitest';
import { loadGeneration } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { useDatabase } from './database.ts';
import { generationOf, submissionOf } from './facts.ts';
import { accepted, newTenant } from './fixtures.ts';

const test = useDatabase();
const MANY = 12_000;
/** In one statement, thus one transaction: the versions of a row that it writes are cleared only after it. */
const AT_ONCE = 100;

interface Told {
  readonly outcome: string;
  readonly wake: boolean;
}

/** So many callbacks of one job. */
async function receiveMany(id: string, terminal: boolean, count = MANY): Promise<Told[]> {
  const told: Told[] = [];
  for (let from = 0; from < count; from += AT_ONCE) {
    const rows = await test.sql<{ told: Told }>(
      `SELECT record_callback(jsonb_build_object('provider', 'infro', 'credential', 'main', 'submissionId', $1::text, 'jobId', NULL,
         'eventKey', $2::text || n, 'type', 'job.updated', 'terminal', $3::boolean, 'progress', n / 12000.0), '') AS told
       FROM generate_series($4::int, $5::int) AS n`,
      [submissionId(id, 1), terminal ? 'end' : 'step', terminal, from + 1, from + AT_ONCE],
    );
    told.push(...rows.map((row) => row.told));
  }
  return told;
}

describe('12,000 callbacks of one job (H1)', () => {
  it('that tell progress: 100 rows, 100 events, no wake, so nothing in the run’s history', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    const told = await receiveMany(id, false);
    expect(told).toHaveLength(MANY);
    expect(told.filter(({ wake }) => wake)).toEqual([]);
    const rows = await test.db.prisma.callback.count({ where: { submissionId: submissionId(id, 1) } });
    const events = await test.db.prisma.generationEvent.count({
      where: { generationId: id, type: 'progress' },
    });
    expect(rows).toBe(100);
    expect(events).toBeGreaterThan(50);
    expect(events).toBeLessThanOrEqual(101);
    expect((await generationOf(test.db, id)).progress).toBeGreaterThan(0.98);
  });

  it('that tell the end: one wake each time that the run has looked', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    const first = await receiveMany(id, true, 1_000);
    expect(first.filter(({ wake }) => wake)).toHaveLength(1);
    await loadGeneration(test.db, { generationId: id, dueInMs: 60_000 });
    const again = await receiveMany(id, true, 1_000);
    // The same events: repeated by the provider.
    expect(again.filter(({ outcome }) => outcome === 'duplicate')).toHaveLength(100);
    expect(again.filter(({ wake }) => wake)).toHaveLength(1);
    expect((await submissionOf(test.db, id)).terminalHintAt).not.toBeNull();
  });
});

describe('a wait and its end (T53)', () => {
  it('are one statement: no open row is without the time at which it is looked at again', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    const row = await generationOf(test.db, id);
    expect(row.stage).toBe('waiting');
    expect(row.dueAt!.getTime()).toBeLessThanOrEqual(row.deadlineAt.getTime());
    await expect(test.sql('UPDATE generation SET due_at = NULL WHERE id = $1', [id])).rejects.toThrow(
      /generation_due_until_terminal/,
    );
  });
});
