import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { openChangeFeed } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { useDatabase } from '../db/database.ts';
import { facts } from '../db/facts.ts';
import { create, newTenant } from '../db/fixtures.ts';
import { eventually } from '../simulators/control.ts';
import { commandsOn, jsonOf } from './run.ts';

const test = useDatabase();
const commands = commandsOn({ databaseUrl: () => test.url });
const SETTINGS = {
  KEYRING: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
  PUBLIC_URL: 'https://here.example',
  PROVIDER_INFRO_API_KEY: 'key',
  PROVIDER_INFRO_WEBHOOK_SECRET: `whsec_${Buffer.alloc(24, 2).toString('base64')}`,
  PROVIDER_AIGENWAY_API_KEY: 'key',
  PROVIDER_AIGENWAY_WEBHOOK_SECRET: `whsec_${Buffer.alloc(24, 3).toString('base64')}`,
};
/** Nothing listens where its Temporal should be. */
function darkroom(...args: string[]) {
  for (const [name, value] of Object.entries(SETTINGS)) vi.stubEnv(name, value);
  return commands(...args);
}
const recover = (at: string | Date, ...args: string[]) =>
  darkroom(
    'recover',
    '--restored-at',
    at instanceof Date ? at.toISOString() : at,
    '--reason',
    'disk lost',
    ...args,
  );

let id: string;
beforeAll(async () => {
  id = await create(test.db, await newTenant(test.db), { input: { prompt: 'a cat', duration_seconds: 5 } });
});
afterEach(() => vi.unstubAllEnvs());

describe('darkroom recover', () => {
  it.each([
    ['yesterday', 'Write a moment with its zone'],
    ['2026-01-01T12:00:00', 'Write a moment with its zone'],
    ['2026-13-01T12:00:00Z', 'Write a moment with its zone'],
    ['2999-01-01T00:00:00Z', 'is in the future'],
  ])('%s is wrong use', async (at, text) => {
    const ran = await recover(at);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(text);
  });

  it('without the settings of the worker: 78, all of them named', async () => {
    const ran = await commands('recover', '--restored-at', new Date().toISOString(), '--reason', 'x');
    expect(ran.code).toBe(78);
    expect(ran.stderr).toContain('KEYRING is not set');
  });

  it('refuses while Temporal is away, an API is connected or the time is wrong, and says why', async () => {
    const before = await facts(test.db, id);
    const { createdAt } = await test.db.prisma.generation.findUniqueOrThrow({ where: { id } });
    const feed = openChangeFeed(test.url, () => {});
    try {
      await eventually(async () => {
        const [row] = await test.sql<{ count: number }>(
          "SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = 'darkroom-listen' AND datname = current_database()",
        );
        return (row?.count ?? 0) > 0 ? true : undefined;
      });
      const ran = await recover(new Date(createdAt.getTime() - 1));
      expect([ran.code, ran.stdout]).toEqual([1, '']);
      expect(ran.stderr).toContain('Temporal could not be asked');
      expect(ran.stderr).toContain('1 API or worker processes are connected to this database');
      expect(ran.stderr).toContain(`${id} was created at ${createdAt.toISOString()}, after --restored-at`);
      expect(ran.stderr).toContain('Nothing was changed.');
    } finally {
      await feed.close();
    }
    expect(await facts(test.db, id)).toEqual(before);
  });

  it('with --force: a table of what was done and what comes next; then JSON, and nothing more to do', async () => {
    const at = new Date();
    const trial = await recover(at, '--force', '--dry-run');
    expect(trial.stdout).toContain('Nothing was changed.');
    expect((await facts(test.db, id)).stage).toBe('queued');
    const ran = await recover(at, '--force', '--actor', 'ann');
    expect(ran.code).toBe(0);
    const [header, line] = ran.stdout.split('\n').map((text) => text.split(/ {2,}/));
    expect(header).toEqual(['submission', 'provider', 'in the dump', 'now', 'job', 'next']);
    const next = 'asked again with the same key and bytes';
    expect(line).toEqual([submissionId(id, 1), 'infro', 'none', 'unknown', '-', next]);
    expect(ran.stdout).toContain('Next: "darkroom doctor", then start API and workers');
    expect(ran.stderr).toContain('note: Temporal could not be asked');
    const again = jsonOf(await recover(at, '--force', '--json'));
    expect(again).toMatchObject({
      restored_at: at.toISOString(),
      dry_run: false,
      generations: [{ generation: id, was: 'unknown', now: 'unknown', jobs: [] }],
      untouched: 0,
      failed: [],
      runs_without_row: [],
    });
    expect(await test.db.prisma.operatorAction.findMany()).toMatchObject([
      { kind: 'recover', actor: 'cli:ann', reason: 'disk lost', generationId: id },
    ]);
  });
});
