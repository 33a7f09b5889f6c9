import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parkGeneration, readCredits } from '../../src/db/index.ts';
import { balance, facts } from '../db/facts.ts';
import { useDatabase } from '../db/database.ts';
import { accepted, create, drop, newTenant, observe, send, sold, store, storing } from '../db/fixtures.ts';
import { temporalAddress } from '../support/stack.ts';
import { commandsOn, jsonOf } from './run.ts';

const test = useDatabase();
const darkroom = commandsOn({ databaseUrl: () => test.url, temporalAddress: temporalAddress() });
const withoutTemporal = commandsOn({ databaseUrl: () => test.url });
const resolve = (id: string, ...args: string[]) =>
  darkroom('generation', 'resolve', id, '--reason', 'ticket 7', '--actor', 'ann', ...args);

let connection: Connection;
beforeAll(async () => {
  connection = await Connection.connect({ address: temporalAddress() });
});
afterAll(() => connection.close());

describe('darkroom generation resolve', () => {
  it('failed: released, on record, and the run is woken', async () => {
    const tenant = await newTenant(test.db);
    const id = await accepted(test.db, tenant);
    await parkGeneration(test.db, { generationId: id, reason: 'step_failed', dueInMs: 60_000 });
    const args = [
      '--state',
      'failed',
      '--error-code',
      'provider_unavailable',
      '--reason',
      'lost at the provider',
    ];
    const ran = await darkroom('generation', 'resolve', id, ...args, '--actor', 'ann', '--json');
    expect(jsonOf(ran)).toEqual({
      id,
      dry_run: false,
      state: 'failed',
      error_code: 'provider_unavailable',
      credits: { captured: 0, released: 100 },
      run_woken: true,
      temporal_url: null,
    });
    expect(await facts(test.db, id)).toMatchObject({
      state: 'failed',
      error: 'provider_unavailable',
      hold: 'released',
    });
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(1_000, 0, 0));
    expect(await test.db.prisma.operatorAction.findMany({ where: { generationId: id } })).toMatchObject([
      { kind: 'resolve', actor: 'cli:ann', reason: 'lost at the provider', tenantId: tenant.id },
    ]);
    const run = await new Client({ connection }).workflow.getHandle(id).describe();
    expect(run).toMatchObject({ type: 'generateMedia', taskQueue: 'darkroom' });
  });

  it('succeeded: charged for the outputs that are stored', async () => {
    const tenant = await newTenant(test.db);
    const id = await storing(test.db, tenant, 3);
    await store(test.db, id, { index: 0 });
    await store(test.db, id, { index: 2 });
    await drop(test.db, id, 1, 'lost');
    expect(await resolve(id, '--state', 'succeeded')).toEqual({
      code: 0,
      stdout: `${id} ended as succeeded: 200 credits captured, 100 released\n`,
      stderr: '',
    });
    expect(await facts(test.db, id)).toMatchObject({
      state: 'succeeded',
      delivery: 'partial',
      captured: 200,
    });
  });

  it('a failure without a code is one of the provider; after its success the outputs decide', async () => {
    const tenant = await newTenant(test.db);
    const id = await accepted(test.db, tenant);
    expect((await resolve(id, '--state', 'failed')).stdout).toBe(
      `${id} ended as failed, provider_failed: 0 credits captured, 100 released\n`,
    );
    const lost = await storing(test.db, tenant);
    await drop(test.db, lost, 0, 'invalid');
    expect((await resolve(lost, '--state', 'failed', '--error-code', 'content_rejected')).stdout).toBe(
      `${lost} ended as failed, output_invalid: 0 credits captured, 100 released\n`,
    );
  });

  it('ends it also while Temporal is away, and says so', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    const args = ['--state', 'failed', '--reason', 'x'];
    expect(await withoutTemporal('generation', 'resolve', id, ...args)).toMatchObject({
      code: 0,
      stderr: 'note: Temporal could not be reached, so the run ends when it looks next\n',
    });
    expect(await facts(test.db, id)).toMatchObject({ state: 'failed', hold: 'released' });
  });

  it('a dry run says what would happen and changes nothing', async () => {
    const tenant = await newTenant(test.db);
    const id = await storing(test.db, tenant, 2);
    await store(test.db, id, { index: 0 });
    await drop(test.db, id, 1, 'lost');
    const before = await facts(test.db, id);
    const { code, stdout, stderr } = await resolve(id, '--state', 'succeeded', '--dry-run');
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: `${id} would end as succeeded: 100 credits captured, 100 released; nothing was changed\n`,
      stderr: '',
    });
    expect(jsonOf(await resolve(id, '--state', 'succeeded', '--dry-run', '--json'))).toMatchObject({
      dry_run: true,
      run_woken: false,
      credits: { captured: 100, released: 100 },
    });
    expect(await facts(test.db, id)).toEqual(before);
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(800, 200, 0));
    expect(await test.db.prisma.operatorAction.count({ where: { generationId: id } })).toBe(0);
  });

  it('is refused where the rows say otherwise, dry or not, with what to do', async () => {
    const tenant = await newTenant(test.db, 5_000);
    const sending = await create(test.db, tenant);
    await send(test.db, sending);
    const downloading = await storing(test.db, tenant);
    const stored = await storing(test.db, tenant);
    await store(test.db, stored);
    const empty = await accepted(test.db, tenant, sold(1, 7));
    const cases = [
      [sending, 'failed', `A submit of ${sending} is under way: try again when its answer is there`],
      [
        downloading,
        'failed',
        `An output of ${downloading} is being stored right now: try again in a moment.`,
      ],
      [stored, 'failed', `Outputs of ${stored} are stored, so it can't fail: resolve it as succeeded`],
      [
        empty,
        'succeeded',
        `No output of ${empty} is stored, so nothing can be charged: resolve it as failed.`,
      ],
      [`gen_${'0'.repeat(26)}`, 'failed', `There is no generation gen_${'0'.repeat(26)}.`],
      ['gen_nonsense', 'failed', 'There is no generation gen_nonsense.'],
    ] as const;
    for (const [id, state, message] of cases) {
      for (const dry of [[], ['--dry-run']]) {
        const { code, stdout, stderr } = await resolve(id, '--state', state, ...dry);
        expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
        expect(stderr).toContain(message);
      }
    }
  });

  it('a generation that has ended stays as it is', async () => {
    const tenant = await newTenant(test.db);
    const id = await storing(test.db, tenant);
    await store(test.db, id);
    await resolve(id, '--state', 'succeeded');
    expect(await resolve(id, '--state', 'failed')).toMatchObject({
      code: 1,
      stderr: `${id} has succeeded already; to give credits back, use "darkroom generation refund".\n`,
    });
    const failed = await accepted(test.db, tenant);
    await observe(test.db, failed, 'failed');
    await resolve(failed, '--state', 'failed');
    expect(await resolve(failed, '--state', 'succeeded')).toMatchObject({
      code: 1,
      stderr: `${failed} has ended already as failed; its credits are released.\n`,
    });
  });

  it.each([
    [['--state', 'expired'], 'Allowed choices are failed, succeeded'],
    [['--state', 'failed', '--error-code', 'deadline_exceeded'], 'Allowed choices are invalid_input'],
    [['--state', 'succeeded', '--error-code', 'no_output'], '--error-code belongs to --state failed'],
    [['--state', 'failed', '--reason', ' '], 'Write 1 to 500 characters on one line.'],
    [['--state', 'failed', '--actor', 'a\nb'], 'Write 1 to 190 characters on one line.'],
    [[], "required option '--state <state>' not specified"],
  ])('wrong use %j ends with 2', async (args, message) => {
    const { code, stderr } = await resolve(`gen_${'0'.repeat(26)}`, ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});
