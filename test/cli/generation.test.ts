import { userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { parkGeneration, readCredits, requestCancel } from '../../src/db/index.ts';
import { balance } from '../db/facts.ts';
import { useDatabase } from '../db/database.ts';
import { accepted, create, grant, newTenant, observe } from '../db/fixtures.ts';
import { acceptAt, billed, estimated, failed, sold, started } from '../db/sales.ts';
import { commandsOn, jsonOf } from './run.ts';

const test = useDatabase();
const darkroom = commandsOn({ databaseUrl: () => test.url });
const refund = (id: string, ...args: string[]) => darkroom('generation', 'refund', id, ...args);

describe('darkroom generation refund', () => {
  it('gives credits back, by the user of this machine, with a note', async () => {
    const tenant = await newTenant(test.db);
    const id = await sold(test.db, tenant);
    expect(
      await refund(id, '--reason', 'bad_output', '--credits', '40', '--note', 'flicker in second 3'),
    ).toEqual({
      code: 0,
      stdout: `refunded: 40 credits of ${id} for bad_output, 40 in all\n`,
      stderr: '',
    });
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(940, 0, 60));
    expect(await test.db.prisma.operatorAction.findMany({ where: { generationId: id } })).toMatchObject([
      {
        kind: 'refund',
        actor: `cli:${userInfo().username}`,
        reason: 'bad_output',
        detail: { credits: 40, note: 'flicker in second 3' },
      },
    ]);
  });

  it('the same again changes nothing, and is done', async () => {
    const tenant = await newTenant(test.db);
    const id = await sold(test.db, tenant);
    await refund(id, '--reason', 'bad_output', '--credits', '40');
    for (const args of [['--credits', '40'], []]) {
      expect(await refund(id, '--reason', 'bad_output', ...args)).toMatchObject({
        code: 0,
        stdout: `refunded before, nothing changed: 40 credits of ${id} for bad_output, 40 in all\n`,
      });
    }
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(940, 0, 60));
  });

  it('all that is left when no amount is named', async () => {
    const tenant = await newTenant(test.db);
    const id = await sold(test.db, tenant);
    await refund(id, '--reason', 'first', '--credits', '1');
    expect(jsonOf(await refund(id, '--reason', 'second', '--actor', 'ann', '--json'))).toEqual({
      id,
      outcome: 'refunded',
      credits: 99,
      refunded: 100,
      dry_run: false,
      temporal_url: null,
    });
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(1_000, 0, 0));
  });

  it('is refused with what to do', async () => {
    const tenant = await newTenant(test.db);
    const id = await sold(test.db, tenant);
    const running = await started(test.db, tenant);
    await refund(id, '--reason', 'first', '--credits', '60');
    const cases: readonly (readonly [string[], string])[] = [
      [[id, '--reason', 'second', '--credits', '41'], `At most 40 credits of ${id} can still be refunded`],
      [
        [id, '--reason', 'first', '--credits', '5'],
        `60 credits of ${id} were refunded for first: give another --reason`,
      ],
      [[running, '--reason', 'x'], `${running} captured no credits, so there is nothing to refund.`],
      [['gen_x', '--reason', 'x'], 'There is no generation gen_x.'],
    ];
    for (const [args, message] of cases) {
      const { code, stdout, stderr } = await darkroom('generation', 'refund', ...args);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain(message);
    }
    await refund(id, '--reason', 'rest');
    expect((await refund(id, '--reason', 'more')).stderr).toBe(
      `All that ${id} captured is refunded already.\n`,
    );
  });

  it.each([
    ['--credits', '0'],
    ['--credits', '-5'],
    ['--credits', '1.5'],
    ['--credits', 'NaN'],
    ['--credits', '1e3'],
    ['--credits', '9007199254740992'],
  ])('%s %s is wrong use', async (option, value) => {
    const { code, stderr } = await refund('gen_x', '--reason', 'x', `${option}=${value}`);
    expect(code).toBe(2);
    expect(stderr).toContain('Write a whole number of credits, from 1 to 9007199254740991.');
  });

  it.each(['Bad Output', '', 'ü', '-x', 'a'.repeat(65)])('the reason %j is wrong use', async (reason) => {
    expect(await refund('gen_x', `--reason=${reason}`)).toMatchObject({ code: 2 });
  });
});

describe('darkroom generation list', () => {
  it('newest first, by state, stage, tenant, and those that need an operator', async () => {
    const [one, two] = [await newTenant(test.db), await newTenant(test.db)];
    await grant(test.db, one, 500, 'k', 'user-1');
    const queued = await create(test.db, one);
    const waiting = await accepted(test.db, one, { account: 'user-1' });
    const ended = await failed(test.db, one);
    const parked = await accepted(test.db, two);
    await parkGeneration(test.db, {
      generationId: parked,
      reason: 'provider_access_denied',
      dueInMs: 60_000,
    });
    const ids = async (...args: string[]) =>
      (jsonOf(await darkroom('generation', 'list', '--json', ...args)) as { id: string }[]).map(
        ({ id }) => id,
      );
    expect(await ids('--tenant', one.id)).toEqual([ended, waiting, queued]);
    expect(await ids('--tenant', one.id, '--limit', '2')).toEqual([ended, waiting]);
    expect(await ids('--tenant', one.id, '--state', 'queued', 'failed')).toEqual([ended, queued]);
    expect(await ids('--tenant', one.id, '--stage', 'waiting')).toEqual([waiting]);
    expect(await ids('--stage', 'waiting', '--state', 'failed')).toEqual([]);
    expect(await ids('--needs-operator')).toEqual([parked]);
    expect((await ids()).slice(0, 4)).toEqual([parked, ended, waiting, queued]);
    const [row] = jsonOf(await darkroom('generation', 'list', '--needs-operator', '--json')) as object[];
    expect(row).toMatchObject({
      tenant: two.id,
      account: 'default',
      model: 'infro-video',
      provider: 'infro',
      state: 'running',
      stage: 'needs_operator',
      credits: 100,
      reason: 'provider_access_denied',
    });
    const { stdout } = await darkroom('generation', 'list', '--needs-operator');
    expect(stdout.split('\n')[1]).toMatch(
      new RegExp(`^${parked}  .*  needs_operator      100  provider_access_denied$`),
    );
    expect((await darkroom('generation', 'list', '--tenant', two.id, '--state', 'failed')).stdout).toBe(
      'None.\n',
    );
  });

  it('refuses an unknown tenant with 1, wrong use with 2', async () => {
    expect(await darkroom('generation', 'list', '--tenant', 'ten_x')).toMatchObject({
      code: 1,
      stderr: 'There is no tenant ten_x: see "darkroom tenant list".\n',
    });
    for (const args of [
      ['--state', 'lost'],
      ['--needs-operator', '--stage', 'waiting'],
      ['--limit', '1001'],
      ['--limit', '0'],
    ]) {
      expect(await darkroom('generation', 'list', ...args)).toMatchObject({ code: 2, stdout: '' });
    }
  });
});

describe('darkroom generation show', () => {
  const lines = async (id: string) => (await darkroom('generation', 'show', id)).stdout;

  it('credits, costs with source, seconds, and what operators did', async () => {
    const tenant = await newTenant(test.db);
    const id = await sold(test.db, tenant, { outputs: 2, renderedSeconds: 4.25, cost: billed('0.30') });
    await refund(id, '--reason', 'bad_output', '--credits', '40', '--note', 'n', '--actor', 'ann');
    await acceptAt(test.db, id, null, 1, 'second-job');
    const text = await lines(id);
    expect(text).toMatch(/^hold +200 credits captured, captured 200, refunded 40$/m);
    expect(text).toMatch(/^ {2}cost +0\.3 USD, final, by observation at \d{4}-\S+Z$/m);
    expect(text).toMatch(
      /^output 1 +stored, \S+, 1001 bytes, rendered 4\.25 s, priced 5 s \(they differ: look into it\)$/m,
    );
    expect(text).toMatch(/^operator 1 +\S+Z refund by cli:ann: bad_output \{"note":"n","credits":40\}$/m);
    expect(text).toMatch(/^ {2}orphan job +second-job, reported \S+Z; its cost is yours$/m);
  });

  it('an estimate is told as such, equal seconds without a remark, late successes with why', async () => {
    const tenant = await newTenant(test.db);
    const late = await failed(test.db, tenant, { estimate: estimated('0.25') });
    expect(await lines(late)).toMatch(/^ {2}cost +0\.25 USD, estimate, by catalogue at \S+Z$/m);
    await observe(test.db, late, 'succeeded');
    expect(await lines(late)).toMatch(/^ {2}late success +\S+Z: the job succeeded after .*; not charged$/m);
    const id = await sold(test.db, tenant, { renderedSeconds: 5 });
    const text = await lines(id);
    expect(text).toMatch(/rendered 5 s, priced 5 s$/m);
    expect(text).not.toMatch(/late success|operator 1|orphan|refunded [1-9]/);
  });

  it('a cancelled one, as JSON; an unknown one is refused', async () => {
    const tenant = await newTenant(test.db);
    const id = await create(test.db, tenant);
    await requestCancel(test.db, { generationId: id, tenantId: tenant.id, actor: 'tenant' });
    expect(jsonOf(await darkroom('generation', 'show', id, '--json'))).toMatchObject({
      id,
      cancellation: { outcome: 'confirmed', requested_by: 'tenant' },
    });
    expect(await lines(id)).toMatch(/^cancellation +confirmed, by tenant$/m);
    expect(await darkroom('generation', 'show', 'gen_x')).toMatchObject({
      code: 1,
      stderr: 'There is no generation gen_x.\n',
    });
  });
});
