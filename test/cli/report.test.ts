import { describe, expect, it } from 'vitest';
import { refundGeneration } from '../../src/db/index.ts';
import { useDatabase } from '../db/database.ts';
import { newTenant, observe } from '../db/fixtures.ts';
import { acceptAt, billed, estimated, failed, moveTo, sold } from '../db/sales.ts';
import { commandsOn, jsonOf } from './run.ts';

const test = useDatabase();
const darkroom = commandsOn({ databaseUrl: () => test.url });

describe('darkroom report', () => {
  it('a table for people: a line a group, the sums, and what to look into', async () => {
    const tenant = await newTenant(test.db);
    const id = await sold(test.db, tenant, {
      cost: billed('0.25'),
      renderedSeconds: 4.4,
      outputs: 2,
      lost: 1,
    });
    const late = await failed(test.db, tenant, { provider: 'kling', estimate: estimated('3', 'units') });
    await observe(test.db, late, 'succeeded', { cost: billed('2.5', 'units') });
    await acceptAt(test.db, id, null, 1, 'second-job');
    await refundGeneration(test.db, {
      generationId: id,
      credits: 40,
      reason: 'bad_output',
      note: null,
      actor: 'cli:ann',
    });
    await moveTo(test.db, id, {
      created: '2026-03-10T08:00:00Z',
      sent: '2026-03-10T08:00:01Z',
      captured: '2026-03-10T08:01:00Z',
      refunded: '2026-03-11T09:00:00Z',
    });
    const day = ['--from', '2026-03-10', '--to', '2026-03-11', '--tenant', tenant.id];
    const { code, stdout, stderr } = await darkroom('report', ...day, '--by', 'day,account');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.split('\n');
    expect(lines.slice(0, 6)).toEqual([
      `Credits and provider costs from 2026-03-10 to 2026-03-11 (UTC days), ${tenant.id}`,
      '',
      `day         tenant                          account  generations  succeeded  captured  refunded  net  final cost  estimated cost`,
      `2026-03-10  ${tenant.id}  default            1          1       100         0  100    0.25 USD        0.25 USD`,
      `2026-03-11  ${tenant.id}  default            0          0         0        40  -40           0               0`,
      `total                                                          1          1       100        40   60    0.25 USD        0.25 USD`,
    ]);
    const rest = lines.slice(7).join('\n');
    expect(rest).toContain('To look into\n');
    expect(rest).toContain(
      `  partial deliveries: 1\n    2026-03-10T08:01:00.000Z  ${id}  infro-video  1 of 2 stored, captured 100 of 200\n`,
    );
    expect(rest).toContain(
      `  refunds: 1\n    2026-03-11T09:00:00.000Z  ${id}  40 credits, bad_output, by cli:ann\n`,
    );

    const now = (await darkroom('report', '--tenant', tenant.id, '--by', 'model,provider')).stdout;
    expect(now).toMatch(
      /late successes: rendered after the end, not charged: 1\n {4}\S+ {2}gen_\w+ {2}kling job-\S+ {2}2\.5 units final\n/,
    );
    expect(now).toMatch(
      /orphan jobs: a second job of one submission: 1\n {4}\S+ {2}gen_\w+ {2}infro second-job {2}0\.25 USD estimated\n/,
    );
    expect(now).toMatch(/output 0 {2}priced 5 s, rendered 4\.4 s\n/);
    expect(now).toMatch(/^infro-video {2}kling +1 +0 +0 +0 +0 +2\.5 units +0$/m);
  });

  it('one JSON object for programs', async () => {
    const tenant = await newTenant(test.db);
    await sold(test.db, tenant, { cost: billed('0.25') });
    expect(
      jsonOf(await darkroom('report', '--tenant', tenant.id, '--by', 'provider,model', '--json')),
    ).toMatchObject({
      tenant: tenant.id,
      by: ['provider', 'model'],
      rows: [
        {
          provider: 'infro',
          model: 'infro-video',
          generations: 1,
          succeeded: 1,
          credits: { captured: 100, refunded: 0, net: 100 },
          costs: [{ unit: 'USD', final: '0.25', estimated: '0' }],
          jobs_without_cost: 0,
        },
      ],
      total: { generations: 1, succeeded: 1, credits: { net: 100 } },
      to_look_into: { refunds: { count: 0, items: [] }, budgets_reached: { count: 0, items: [] } },
    });
  });

  it('groups by tenant, account, model and day when nothing is asked for', async () => {
    expect(jsonOf(await darkroom('report', '--json'))).toMatchObject({
      by: ['tenant', 'account', 'model', 'day'],
    });
  });

  it('says how many jobs have no known cost, only then', async () => {
    const tenant = await newTenant(test.db);
    await sold(test.db, tenant, { cost: billed('1') });
    expect((await darkroom('report', '--tenant', tenant.id)).stdout).not.toContain('no cost known');
    await sold(test.db, tenant);
    expect((await darkroom('report', '--tenant', tenant.id)).stdout).toMatch(
      /no cost known\n.* 1\ntotal .* 1\n/,
    );
  });

  it('an empty report has its sums and nothing to look into', async () => {
    const { stdout } = await darkroom(
      'report',
      '--from',
      '2020-01-01',
      '--to',
      '2020-01-02',
      '--by',
      'tenant',
    );
    expect(stdout).toMatch(/\ntotal +0 +0 +0 +0 +0 +0 +0\n\nTo look into: nothing\.\n$/);
  });

  it.each([
    [['--from', '2026-02-30'], 'Write a day that exists, as YYYY-MM-DD.'],
    [['--to', 'today'], 'Write a day that exists, as YYYY-MM-DD.'],
    [['--by', 'tenant,week'], 'Write some of tenant,account,model,day,provider, separated by commas.'],
    [['--by', ''], 'Write some of tenant,account,model,day,provider, separated by commas.'],
    [['--from', '2026-03-02', '--to', '2026-03-01'], 'change --from or --to'],
    [['--from', '2020-01-01'], 'at most 366 days: ask for it in parts'],
    [['extra'], 'too many arguments'],
  ])('wrong use %j ends with 2 and what to do', async (args, message) => {
    const { code, stdout, stderr } = await darkroom('report', ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  });

  it('an unknown tenant is refused with 1', async () => {
    expect(await darkroom('report', '--tenant', 'ten_x')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'There is no tenant ten_x: see "darkroom tenant list".\n',
    });
  });
});
