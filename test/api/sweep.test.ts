import { expect, it } from 'vitest';
import { SWEEP_COUNT_NAMES } from '../../src/domain/sweep.ts';
import { accepted, newTenant as newFixture } from '../db/fixtures.ts';
import { send, type Answer } from './client.ts';
import { codeOf, useApi } from './suite.ts';
import { newTenant } from './tenants.ts';

const suite = useApi();
const sweep = (key: string): Promise<Answer> =>
  send(suite.api.url, {
    method: 'POST',
    path: '/admin/v1/sweep',
    headers: { Authorization: `Bearer ${key}` },
  });

it('makes one pass of each and tells what it brought', async () => {
  const tenant = await newFixture(suite.db);
  const overdue = await accepted(suite.db, tenant);
  await suite.db.prisma.generation.update({
    where: { id: overdue },
    data: { dueAt: new Date(Date.now() - 60_000) },
  });
  const waiting = await accepted(suite.db, tenant);
  await suite.db.prisma.generation.update({
    where: { id: waiting },
    data: { dueAt: new Date(Date.now() + 3_600_000) },
  });
  const answer = await sweep(suite.operator.key);
  expect(answer.status).toBe(200);
  const body = answer.json() as {
    object: string;
    counts: Record<string, number>;
    failed: object[];
    left_to_workers: string[];
  };
  expect(body).toMatchObject({ object: 'sweep', failed: [], left_to_workers: ['jobs', 'late'] });
  expect(Object.keys(body.counts)).toEqual(SWEEP_COUNT_NAMES);
  expect(body.counts).toMatchObject({
    due_woken: 1,
    runs_checked: 1,
    runs_ensured: 0,
    unseen_woken: 0,
    violations: 0,
  });
  expect(suite.api.woken.map(({ run, reason }) => [run.generationId, reason])).toEqual([[overdue, 'sweep']]);
});

it('is for operators only', async () => {
  const tenant = await newTenant(suite.db, { scopes: ['generations', 'credits:grant'] });
  expect(codeOf(await sweep(tenant.key))).toEqual([403, 'scope_missing']);
});
