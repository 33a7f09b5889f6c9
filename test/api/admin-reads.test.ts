import { describe, expect, it } from 'vitest';
import { parkGeneration } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { accept, answer, receive, send as sendToProvider } from '../db/fixtures.ts';
import { send } from './client.ts';
import { codeOf, useApi } from './suite.ts';
import { create, newTenant, sendJson, type TestTenant } from './tenants.ts';

const suite = useApi();

const read = (path: string, key = suite.operator.key) =>
  send(suite.api.url, { path: `/admin/v1/${path}`, headers: { Authorization: `Bearer ${key}` } });
const post = (path: string, body: object) =>
  sendJson(suite.api.url, suite.operator.key, { path: `/admin/v1/${path}`, body });
const urlOf = (id: string) => `http://ui.test/namespaces/default/workflows/${id}`;

async function made(tenant: TestTenant, body?: object): Promise<string> {
  const created = await create(suite.api.url, tenant, body === undefined ? {} : { body });
  return created.json()['id'] as string;
}
async function waiting(tenant: TestTenant): Promise<string> {
  const id = await made(tenant);
  await sendToProvider(suite.db, id);
  await accept(suite.db, id);
  return id;
}
interface Page {
  readonly data: readonly { readonly id: string }[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}
async function found(query: string): Promise<string[]> {
  const page = await read(`generations?${query}`);
  expect(page.status).toBe(200);
  return (page.json() as unknown as Page).data.map(({ id }) => id);
}

describe('GET /admin/v1/generations', () => {
  it('finds by everything that an operator may know, newest first', async () => {
    const [one, two] = [await newTenant(suite.db), await newTenant(suite.db)];
    const queued = await made(one);
    const running = await waiting(one);
    const other = await waiting(two);
    await parkGeneration(suite.db, { generationId: other, reason: 'job_taken', dueInMs: 60_000 });
    const of = `tenant=${one.id}`;
    expect(await found(of)).toEqual([running, queued]);
    expect(await found(`${of}&state=queued`)).toEqual([queued]);
    expect(await found(`${of}&stage=waiting`)).toEqual([running]);
    expect(await found(`tenant=${two.id}&needs_operator=true`)).toEqual([other]);
    expect(await found(`${of}&needs_operator=true`)).toEqual([]);
    expect(await found(`tenant=${two.id}&needs_operator=true&stage=needs_operator`)).toEqual([other]);
    expect(await found(`tenant=${two.id}&needs_operator=true&stage=waiting`)).toEqual([]);
    expect(await found(`${of}&provider=infro&model=infro-video&account=default`)).toEqual([running, queued]);
    for (const miss of ['provider=kling', 'model=other', 'account=nobody', 'state=failed', 'overdue=true']) {
      expect(await found(`${of}&${miss}`)).toEqual([]);
    }
    expect(await found(`job_id=job-${running}`)).toEqual([running]);
    expect(await found('job_id=none')).toEqual([]);
    expect(await found(`submission_id=${submissionId(other, 1)}`)).toEqual([other]);
    expect(await found(`${of}&submission_id=${submissionId(other, 1)}`)).toEqual([]);
    const { createdAt } = await suite.db.prisma.generation.findUniqueOrThrow({ where: { id: queued } });
    expect(await found(`${of}&created_after=${createdAt.toISOString()}`)).toEqual([running]);
    expect(await found(`${of}&created_after=2999-01-01T00:00:00Z`)).toEqual([]);
    const [row] = (await read(`generations?tenant=${two.id}`)).json()['data'] as object[];
    expect(row).toEqual({
      object: 'listed_generation',
      id: other,
      tenant: two.id,
      account: 'default',
      model: 'infro-video',
      provider: 'infro',
      state: 'running',
      stage: 'needs_operator',
      credits: expect.any(Number) as number,
      reason: 'job_taken',
      created_at: expect.any(String) as string,
      deadline_at: expect.any(String) as string,
      due_at: expect.any(String) as string,
      overdue_seconds: 0,
      temporal_url: urlOf(other),
    });
  });

  it('overdue: those that should have written more than a minute ago, and for how long', async () => {
    const tenant = await newTenant(suite.db);
    const [late, little, ended] = [await waiting(tenant), await waiting(tenant), await made(tenant)];
    const due = (id: string, seconds: number) =>
      suite.db.prisma
        .$executeRaw`UPDATE generation SET due_at = now() - ${seconds}::int * interval '1 second' WHERE id = ${id}`;
    await due(late, 3_600);
    await due(little, 30);
    await due(ended, 3_600);
    await sendJson(suite.api.url, tenant.key, { path: `/v1/generations/${ended}/cancel`, body: {} });
    expect(await found(`tenant=${tenant.id}&overdue=true`)).toEqual([late]);
    const rows = (await read(`generations?tenant=${tenant.id}`)).json()['data'] as {
      id: string;
      overdue_seconds: number;
    }[];
    const overdue = Object.fromEntries(rows.map((row) => [row.id, row.overdue_seconds]));
    expect(overdue[late]).toBeGreaterThanOrEqual(3_600);
    expect(overdue[little]).toBeGreaterThanOrEqual(30);
    expect(overdue[ended]).toBe(0);
  });

  it('pages to the end without a gap or a repeat', async () => {
    const tenant = await newTenant(suite.db);
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) ids.unshift(await made(tenant));
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const after: string = cursor === '' ? '' : `&after=${cursor}`;
      const answer = await read(`generations?tenant=${tenant.id}&limit=2${after}`);
      const page = answer.json() as unknown as Page;
      expect(page.has_more).toBe(page.next_cursor !== null);
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    expect(seen).toEqual(ids);
  });

  it.each([
    ['state=lost', 'invalid_query', 400],
    ['stage=x', 'invalid_query', 400],
    ['overdue=yes', 'invalid_query', 400],
    ['tenant=x', 'invalid_query', 400],
    ['submission_id=x', 'invalid_query', 400],
    ['job_id=%00', 'invalid_query', 400],
    ['created_after=yesterday', 'invalid_query', 400],
    ['limit=101', 'invalid_query', 400],
    ['nonsense=1', 'invalid_query', 400],
    ['after=x', 'invalid_cursor', 400],
    [`tenant=ten_${'0'.repeat(26)}`, 'tenant_not_found', 404],
  ])('%s is %s', async (query, code, status) => {
    expect(codeOf(await read(`generations?${query}`))).toEqual([status, code]);
  });
});

describe('GET /admin/v1/generations/{id}', () => {
  it('tells all that the rows know and what to do next, and nothing of the tenant’s', async () => {
    const tenant = await newTenant(suite.db, { scopes: ['generations', 'webhooks'] });
    await sendJson(suite.api.url, tenant.key, {
      path: '/v1/webhook-endpoints',
      headers: { 'Idempotency-Key': 'hook' },
      body: { url: 'https://example.com/hooks?token=canary-url' },
    });
    const id = await made(tenant, {
      model: 'infro-video',
      input: { prompt: 'canary-prompt' },
      metadata: { note: 'canary-metadata' },
    });
    await sendToProvider(suite.db, id, { estimatedCost: { amount: '0.250', unit: 'USD' } });
    await accept(suite.db, id);
    await receive(suite.db, { submissionId: submissionId(id, 1), terminal: true, progress: 0.5 });
    await post(`generations/${id}/resolution`, { state: 'failed', reason: 'ticket 4711' });
    const answered = await read(`generations/${id}`);
    expect(answered.status).toBe(200);
    expect(answered.text).not.toMatch(/canary|"raw"/);
    const shown = answered.json();
    expect(shown).toMatchObject({
      object: 'operated_generation',
      id,
      temporal_url: urlOf(id),
      tenant: tenant.id,
      state: 'failed',
      stage: 'done',
      error_code: 'provider_failed',
      next: { what: 'It has ended; nothing is left to do.', command: null },
      credits: { state: 'released', captured: 0, refunded: 0 },
      submissions: [
        {
          id: submissionId(id, 1),
          provider: 'infro',
          state: 'accepted',
          job_id: `job-${id}`,
          callbacks: 1,
          cost: { amount: '0.25', unit: 'USD', final: false, source: 'catalogue' },
        },
      ],
      callbacks: [
        { submission: submissionId(id, 1), generation: id, terminal: true, seen_at: null, bytes: 12 },
      ],
      outputs: [],
      webhooks: [
        { type: 'generation.failed', receiver: 'https://example.com', state: 'pending', attempts: 0 },
      ],
      operator_actions: [{ kind: 'resolve', actor: suite.operator.actor, reason: 'ticket 4711' }],
    });
    const events = shown['events'] as { seq: number; type: string }[];
    expect(events[0]).toMatchObject({ type: 'terminal' });
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => events.length - i));
  });

  it('says what to do by stage, provider and what is paused or closed', async () => {
    const tenant = await newTenant(suite.db);
    const next = async (id: string) =>
      (await read(`generations/${id}`)).json()['next'] as { what: string; command: string | null };
    const unknown = await made(tenant);
    const fence = await sendToProvider(suite.db, unknown);
    await answer(suite.db, unknown, fence, 'unknown');
    expect((await next(unknown)).what).toContain('gives no second job');
    const foreign = await made(tenant);
    const second = await sendToProvider(suite.db, foreign, { provider: 'crazyrouter' });
    await answer(suite.db, foreign, second, 'unknown');
    expect((await next(foreign)).command).toBe(
      `npx darkroom submission attach ${submissionId(foreign, 1)} --job JOB --reason "…"`,
    );
    const queued = await made(tenant);
    expect((await next(queued)).command).toBeNull();
    await suite.db.prisma.providerCircuit.create({
      data: { provider: 'infro', failures: 5, openUntil: new Date(Date.now() + 3_600_000), openings: 1 },
    });
    expect((await read(`generations/${queued}`)).json()).toMatchObject({
      provider_closed: 'circuit_open',
      next: { command: 'npx darkroom providers' },
    });
    await suite.db.prisma.providerCircuit.delete({ where: { provider: 'infro' } });
    await suite.db.prisma.pause.create({
      data: { kind: 'tenant', target: tenant.id, reason: 'r', actor: 'cli:test' },
    });
    expect((await read(`generations/${queued}`)).json()).toMatchObject({
      paused: { kind: 'tenant', target: tenant.id },
      next: { command: `npx darkroom resume tenant ${tenant.id} --reason "…"` },
    });
    await suite.db.prisma
      .$executeRaw`UPDATE generation SET due_at = now() - interval '1 hour' WHERE id = ${queued}`;
    expect((await next(queued)).command).toBe(`npx darkroom generation wake ${queued}`);
  });

  it('an unknown one is 404', async () => {
    for (const id of [`gen_${'0'.repeat(26)}`, 'x', '%00']) {
      expect(codeOf(await read(`generations/${id}`))).toEqual([404, 'generation_not_found']);
    }
  });
});

describe('GET /admin/v1/callbacks', () => {
  it('lists without bodies: of a provider, of a submission, unmatched, unseen, by pages', async () => {
    const tenant = await newTenant(suite.db);
    const id = await waiting(tenant);
    const submission = submissionId(id, 1);
    for (const eventKey of ['first', 'second'])
      await receive(suite.db, { submissionId: submission, eventKey });
    await receive(suite.db, { submissionId: null, jobId: `stray-${id}`, provider: 'kling' });
    const list = async (query: string) => {
      const answered = await read(`callbacks?${query}`);
      expect([answered.status, answered.text.includes('raw')]).toEqual([200, false]);
      return answered.json() as unknown as Page & {
        data: readonly { submission: string | null; job_id: string | null; temporal_url: string | null }[];
      };
    };
    const mine = await list(`submission=${submission}&limit=1`);
    expect(mine.data).toMatchObject([
      { submission, generation: id, temporal_url: urlOf(id), provider: 'infro' },
    ]);
    expect(mine.has_more).toBe(true);
    const rest = await list(`submission=${submission}&limit=1&after=${mine.next_cursor}`);
    expect(rest).toMatchObject({ has_more: false, next_cursor: null });
    expect(rest.data[0]?.id).not.toBe(mine.data[0]?.id);
    expect((await list(`generation=${id}`)).data).toHaveLength(2);
    const stray = (await list('unmatched=true&provider=kling')).data;
    expect(stray).toMatchObject([{ submission: null, job_id: `stray-${id}`, temporal_url: null }]);
    await suite.db.prisma
      .$executeRaw`UPDATE callback SET seen_at = now() WHERE submission_id = ${submission} AND event_key = 'first'`;
    expect((await list(`submission=${submission}&unseen=true`)).data).toHaveLength(1);
    for (const query of ['provider=%00', 'submission=x', 'unseen=1', 'generation=x']) {
      expect(codeOf(await read(`callbacks?${query}`))).toEqual([400, 'invalid_query']);
    }
    expect(codeOf(await read('callbacks?after=x'))).toEqual([400, 'invalid_cursor']);
  });
});
