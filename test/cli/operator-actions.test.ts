import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requestCancel } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { facts } from '../db/facts.ts';
import { useDatabase } from '../db/database.ts';
import { accept, accepted, create, drop, newTenant, storing } from '../db/fixtures.ts';
import { makeRow } from '../db/rows.ts';
import { newEndpoint } from '../db/webhooks.ts';
import { sold } from '../db/sales.ts';
import { temporalAddress } from '../support/stack.ts';
import { commandsOn, jsonOf } from './run.ts';

const test = useDatabase();
const darkroom = commandsOn({ databaseUrl: () => test.url, temporalAddress: temporalAddress() });
const withoutTemporal = commandsOn({ databaseUrl: () => test.url });
const NOTE = 'note: Temporal could not be reached; the sweep wakes the run when it is back\n';
const BY = ['--reason', 'ticket 7', '--actor', 'ann'] as const;
const generation = (...args: string[]) => darkroom('generation', ...args, ...BY);
const submission = (...args: string[]) => darkroom('submission', ...args, ...BY);
const actionsOf = (generationId: string) =>
  test.db.prisma.operatorAction.findMany({ where: { generationId }, orderBy: { id: 'asc' } });
const waiting = async () => accepted(test.db, await newTenant(test.db));
const unknown = async () => (await makeRow(test.db, 'unknown', { flagged: false, overdue: false })).id;
const wokenAt = async (id: string) =>
  (await test.db.prisma.generation.findUniqueOrThrow({ where: { id } })).wakeRequestedAt;

let connection: Connection;
beforeAll(async () => {
  connection = await Connection.connect({ address: temporalAddress() });
});
afterAll(() => connection.close());

describe('darkroom generation wake, observe, cancel, retry-storing, redeliver', () => {
  it('wake starts a run that was lost; its reason may be left out', async () => {
    const id = await waiting();
    expect(await darkroom('generation', 'wake', id)).toEqual({
      code: 0,
      stdout: `${id}: its run looks at its rows now\n`,
      stderr: '',
    });
    const run = await new Client({ connection }).workflow.getHandle(id).describe();
    expect(run).toMatchObject({ type: 'generateMedia', taskQueue: 'darkroom' });
    expect(await actionsOf(id)).toMatchObject([{ kind: 'wake', reason: 'woken by hand' }]);
  });

  it('while Temporal is away the wish stands in the row, and the command says so', async () => {
    const id = await waiting();
    const ran = await withoutTemporal('generation', 'observe', id, '--json', ...BY);
    expect(ran.stderr).toBe(NOTE);
    expect(jsonOf(ran)).toEqual({
      object: 'operator_action',
      generation: id,
      action: 'observe',
      outcome: 'observing',
      dry_run: false,
      state: 'running',
      stage: 'waiting',
      submission: submissionId(id, 1),
      job_id: `job-${id}`,
      count: 1,
      skipped: null,
      store_until: null,
      temporal_url: null,
      run_woken: false,
    });
    expect(await wokenAt(id)).not.toBeNull();
    expect(await actionsOf(id)).toMatchObject([{ kind: 'observe', actor: 'cli:ann', reason: 'ticket 7' }]);
  });

  it('each says what it has brought about', async () => {
    const tenant = await newTenant(test.db);
    const lost = await storing(test.db, tenant, 2);
    await drop(test.db, lost, 0, 'lost');
    expect((await generation('retry-storing', lost, '--hours', '30')).stdout).toMatch(
      new RegExp(`^${lost}: 2 outputs tried again, until \\d{4}-\\S+Z\n$`),
    );
    const queued = await create(test.db, tenant);
    expect((await generation('cancel', queued)).stdout).toBe(
      `${queued}: cancelled; its credits are released\n`,
    );
    expect((await generation('cancel', await waiting())).stdout).toContain(
      'its provider is asked to cancel; the answer decides',
    );
    const other = await newTenant(test.db);
    await newEndpoint(test.db, other);
    const told = await create(test.db, other);
    await requestCancel(test.db, { generationId: told, tenantId: other.id, actor: 'tenant' });
    expect(await generation('redeliver', told)).toEqual({
      code: 0,
      stdout: `${told}: 1 webhook sent again\n`,
      stderr: '',
    });
  });

  it('a dry run changes nothing and wakes nobody', async () => {
    const id = await waiting();
    const before = await facts(test.db, id);
    for (const action of ['wake', 'observe', 'cancel']) {
      const ran = await generation(action, id, '--dry-run');
      expect([ran.code, ran.stderr]).toEqual([0, '']);
      expect(ran.stdout).toMatch(new RegExp(`^${id}, dry run, nothing was changed: `));
    }
    expect(await facts(test.db, id)).toEqual(before);
    expect([await wokenAt(id), await actionsOf(id)]).toEqual([null, []]);
  });

  it('is refused with why and what to do', async () => {
    const queued = await create(test.db, await newTenant(test.db));
    await generation('cancel', queued);
    const running = await waiting();
    const cases = [
      [['wake', queued], `${queued}: It has ended as cancelled: there is no run to wake`],
      [['cancel', queued], `${queued}: It has ended as cancelled: there is nothing to cancel`],
      [['retry-storing', queued], 'one that has ended stays ended; a charge is taken back by a refund'],
      [['retry-storing', running], 'The provider has not been seen to succeed'],
      [['redeliver', running], 'No webhook was due for it'],
      [['observe', 'gen_x'], 'There is no generation gen_x.'],
    ] as const;
    for (const [args, message] of cases) {
      const { code, stdout, stderr } = await generation(...args);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain(message);
    }
  });

  it.each([
    [['observe', 'gen_x', '--reason', ' '], 'Write 1 to 500 characters on one line.'],
    [['observe', 'gen_x'], "required option '--reason <text>' not specified"],
    [['retry-storing', 'gen_x', '--reason', 'x', '--hours', '169'], 'a whole number of hours, from 1 to 168'],
    [['retry-storing', 'gen_x', '--reason', 'x', '--hours', '0'], 'a whole number of hours, from 1 to 168'],
  ])('wrong use %j ends with 2', async (args, message) => {
    const { code, stderr } = await withoutTemporal('generation', ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

describe('darkroom submission', () => {
  it('attach names the job; show tells what came of it', async () => {
    const id = await unknown();
    const of = submissionId(id, 1);
    expect((await submission('attach', of, '--job', 'job-a')).stdout).toContain(
      `${id}: its run asks the provider for job job-a and attaches it to ${of} when it is there`,
    );
    const shown = async () => (await withoutTemporal('submission', 'show', of)).stdout;
    expect(await shown()).toMatch(/^named by hand +job-a at \S+Z: not looked for yet$/m);
    await test.sql('UPDATE callback SET seen_at = clock_timestamp() WHERE submission_id = $1', [of]);
    expect(await shown()).toMatch(
      /^named by hand +job-a at \S+Z: looked for at \S+Z, not attached: .*check the id$/m,
    );
    await accept(test.db, id, 'job-a');
    expect(await shown()).toMatch(/^job id +job-a$[\s\S]*^named by hand +job-a at \S+Z: attached$/m);
    expect((await submission('attach', of, '--job', 'job-a')).stdout).toContain('has job job-a already');
    expect(await submission('attach', of, '--job', 'job-b')).toMatchObject({
      code: 1,
      stderr: `${id}: The submission has the job job-a already, and keeps it: observe it instead.\n`,
    });
  });

  it('not-accepted ends and releases', async () => {
    const id = await unknown();
    expect((await submission('not-accepted', submissionId(id, 1))).stdout).toBe(
      `${id}: ${submissionId(id, 1)} is declared not accepted; ended as failed, its credits are released\n`,
    );
    expect(await facts(test.db, id)).toMatchObject({ error: 'provider_unavailable', hold: 'released' });
  });

  it('resubmit needs --yes, save as a dry run', async () => {
    const id = await unknown();
    const of = submissionId(id, 1);
    expect(await submission('not-accepted', of, '--resubmit')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('a second one is paid for') as string,
    });
    expect((await submission('not-accepted', of, '--resubmit', '--dry-run')).code).toBe(0);
    expect(await facts(test.db, id)).toMatchObject({ stage: 'submission_unknown' });
    expect(await actionsOf(id)).toEqual([]);
    const ran = await submission('not-accepted', of, '--resubmit', '--yes');
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout).toContain('its run sends a new submission');
    expect(await facts(test.db, id)).toMatchObject({ state: 'running', stage: 'queued', hold: 'held' });
  });

  it('list: by state and provider, newest first', async () => {
    const [one, two, three] = [await unknown(), await waiting(), await unknown()];
    const ids = async (...args: string[]) =>
      (jsonOf(await withoutTemporal('submission', 'list', '--json', ...args)) as { id: string }[]).map(
        ({ id }) => id,
      );
    const [a, b, c] = [one, two, three].map((id) => submissionId(id, 1));
    expect((await ids('--provider', 'infro')).slice(0, 3)).toEqual([c, b, a]);
    expect((await ids('--state', 'unknown')).slice(0, 2)).toEqual([c, a]);
    expect(await ids('--provider', 'nobody')).toEqual([]);
    const { stdout } = await withoutTemporal('submission', 'list', '--state', 'accepted', '--limit', '1');
    expect(stdout).toMatch(new RegExp(`^submission .*\n${b} .*accepted +job-${two}\n$`));
    expect((await withoutTemporal('submission', 'list', '--provider', 'nobody')).stdout).toBe(
      'No such submission.\n',
    );
  });

  it.each([
    [['show', 'sub_x'], 'Write the id of a submission'],
    [['attach', `sub_${'0'.repeat(26)}_1`, '--job', 'a b', '--reason', 'x'], 'Write 1 to 255 visible ASCII'],
    [['attach', `sub_${'0'.repeat(26)}_1`, '--reason', 'x'], "required option '--job <id>' not specified"],
    [['list', '--state', 'lost'], 'Allowed choices are prepared'],
  ])('wrong use %j ends with 2', async (args, message) => {
    const { code, stderr } = await withoutTemporal('submission', ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });

  it('an unknown one is refused', async () => {
    const id = `sub_${'0'.repeat(26)}_1`;
    expect(await withoutTemporal('submission', 'show', id)).toMatchObject({
      code: 1,
      stderr: `There is no submission ${id}.\n`,
    });
    expect(await submission('not-accepted', id)).toMatchObject({
      code: 1,
      stderr: `There is no generation gen_${'0'.repeat(26)}.\n`,
    });
  });
});

it('darkroom generation refund --dry-run leaves the reason free', async () => {
  const id = await sold(test.db, await newTenant(test.db));
  const refund = (...args: string[]) =>
    withoutTemporal('generation', 'refund', id, '--reason', 'bad', '--credits', '40', ...args);
  expect((await refund('--dry-run')).stdout).toBe(
    `dry run, nothing was changed; refunded: 40 credits of ${id} for bad, 40 in all\n`,
  );
  expect((await refund()).stdout).toBe(`refunded: 40 credits of ${id} for bad, 40 in all\n`);
});
