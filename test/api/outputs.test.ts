import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { recordCallback } from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { callback, claimOf, send as claimAndSend } from '../db/fixtures.ts';
import { finish } from '../db/finish.ts';
import { send, type Answer } from './client.ts';
import {
  CONTENT,
  fetchFile,
  linkOf,
  outputOf,
  signedLink,
  storedInput,
  succeeded,
  useFiles,
} from './files.ts';
import { codeOf } from './suite.ts';
import { BODY, create, get, newTenant, readBalance, type TestTenant } from './tenants.ts';

const suite = useFiles();

function remove(tenant: TestTenant, id: string, what: 'outputs' | 'input'): Promise<Answer> {
  return send(suite.api.url, {
    method: 'DELETE',
    path: `/v1/generations/${id}/${what}`,
    headers: { Authorization: `Bearer ${tenant.key}` },
  });
}

async function created(tenant: TestTenant): Promise<string> {
  return (await create(suite.api.url, tenant)).json()['id'] as string;
}

describe('GET /v1/generations/{id}/outputs/{n}', () => {
  it('sends on to the link that the generation shows, which gives the bytes', async () => {
    const tenant = await newTenant(suite.db);
    const id = await succeeded(suite, tenant);
    const path = `/v1/generations/${id}/outputs/0`;
    const answer = await get(suite.api.url, tenant, path);
    expect([answer.status, answer.text, answer.headers['cache-control']]).toEqual([302, '', 'no-store']);
    expect(answer.headers['cross-origin-resource-policy']).toBe('same-origin');
    const file = await fetchFile(suite.api.url, answer.headers.location!);
    expect(file.bytes.equals(CONTENT)).toBe(true);
    const head = await send(suite.api.url, {
      method: 'HEAD',
      path,
      headers: { Authorization: `Bearer ${tenant.key}` },
    });
    expect(head.status).toBe(302);
    expect(codeOf(await send(suite.api.url, { path }))).toEqual([401, 'api_key_missing']);
  });

  it('404 for what is not there, and not there yet', async () => {
    const tenant = await newTenant(suite.db);
    const [ended, open] = [await succeeded(suite, tenant), await created(tenant)];
    const answers = await Promise.all(
      [
        `${ended}/outputs/1`,
        `${ended}/outputs/00`,
        `${ended}/outputs/-0`,
        `${ended}/outputs/x`,
        `${ended}/outputs/%00`,
        `${ended}/outputs/${'9'.repeat(400)}`,
        `${open}/outputs/0`,
      ].map((path) => get(suite.api.url, tenant, `/v1/generations/${path}`, { 'X-Request-Id': 'same' })),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(codeOf(answers[0]!)).toEqual([404, 'output_not_found']);
  });

  it('SURL-7 another tenant’s output is 404', async () => {
    const [owner, other] = await Promise.all([newTenant(suite.db), newTenant(suite.db)]);
    const id = await succeeded(suite, owner);
    const answer = await get(suite.api.url, other, `/v1/generations/${id}/outputs/0`);
    expect(codeOf(answer)).toEqual([404, 'generation_not_found']);
  });
});

describe('DELETE /v1/generations/{id}/outputs', () => {
  it('its links are dead at once, the rest stays readable; repeating it changes nothing', async () => {
    const tenant = await newTenant(suite.db);
    const id = await succeeded(suite, tenant);
    const before = (await get(suite.api.url, tenant, `/v1/generations/${id}`)).json();
    const link = await linkOf(suite.api.url, tenant, id);
    const balance = await readBalance(suite.api.url, tenant);
    const first = await remove(tenant, id, 'outputs');
    expect([first.status, first.headers.location]).toEqual([202, `/v1/generations/${id}`]);
    const gone = { url: null, url_expires_at: null };
    const [output] = before['outputs'] as object[];
    expect(first.json()).toEqual({
      ...before,
      delivery: 'expired',
      outputs: [{ ...output, ...gone }],
      updated_at: expect.any(String) as string,
    });
    expect(codeOf(await send(suite.api.url, { path: link }))).toEqual([404, 'file_not_found']);
    const direct = await get(suite.api.url, tenant, `/v1/generations/${id}/outputs/0`);
    expect(codeOf(direct)).toEqual([404, 'output_not_found']);
    const again = await remove(tenant, id, 'outputs');
    expect([again.status, again.text]).toEqual([202, first.text]);
    expect((await get(suite.api.url, tenant, `/v1/generations/${id}`)).text).toBe(first.text);
    expect(await readBalance(suite.api.url, tenant)).toEqual(balance);
  });

  it('409 while it has not ended; 202 where there was nothing to delete', async () => {
    const tenant = await newTenant(suite.db);
    const id = await created(tenant);
    expect(codeOf(await remove(tenant, id, 'outputs'))).toEqual([409, 'not_terminal']);
    await finish(suite.db, id);
    const answer = await remove(tenant, id, 'outputs');
    expect([answer.status, answer.json()]).toEqual([
      202,
      expect.objectContaining({ state: 'failed', delivery: 'failed', outputs: [] }),
    ]);
  });

  it('of one tenant only', async () => {
    const [owner, other] = await Promise.all([newTenant(suite.db), newTenant(suite.db)]);
    const id = await succeeded(suite, owner);
    expect(codeOf(await remove(other, id, 'outputs'))).toEqual([404, 'generation_not_found']);
    expect((await outputOf(suite.api.url, owner, id)).url).not.toBeNull();
  });
});

/** Tables in which a text, or its bytes, is found. */
async function tablesWith(db: Db, text: string): Promise<string[]> {
  const tables = await db.prisma.$queryRaw<{ name: string }[]>`
    SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`;
  const hex = Buffer.from(text).toString('hex');
  const found = await Promise.all(
    tables.map(async ({ name }) => {
      const rows = await db.prisma.$queryRawUnsafe<unknown[]>(
        `SELECT 1 FROM "${name}" AS t WHERE to_jsonb(t)::text LIKE $1 OR to_jsonb(t)::text LIKE $2 LIMIT 1`,
        `%${text}%`,
        `%${hex}%`,
      );
      return rows.length > 0 ? [name] : [];
    }),
  );
  return found.flat().sort();
}

describe('DELETE /v1/generations/{id}/input', () => {
  it('takes prompt and input out of every row, for good; credits, state and outputs stay', async () => {
    const tenant = await newTenant(suite.db);
    const prompt = `canary${randomUUID().replaceAll('-', '')}`;
    const key = randomUUID();
    const body = { ...BODY, input: { prompt }, metadata: { mine: 'label' } };
    const id = (await create(suite.api.url, tenant, { key, body })).json()['id'] as string;
    const { request } = claimOf(id);
    await claimAndSend(suite.db, id, { request: { ...request, body: JSON.stringify({ prompt }) } });
    const raw = Buffer.from(JSON.stringify({ input: { prompt } }));
    await recordCallback(suite.db, callback({ submissionId: submissionId(id, 1) }), raw);
    expect(codeOf(await remove(tenant, id, 'input'))).toEqual([409, 'not_terminal']);
    await finish(suite.db, id);
    await suite.db.prisma.webhookEvent.create({
      data: {
        id: `evt_${randomUUID()}`,
        tenantId: tenant.id,
        generationId: id,
        type: 'generation.failed',
        body: JSON.stringify({ input: { prompt } }),
        createdAt: new Date(),
      },
    });
    expect(await tablesWith(suite.db, prompt)).toEqual([
      'callback',
      'generation',
      'submission',
      'webhook_event',
    ]);
    const before = (await get(suite.api.url, tenant, `/v1/generations/${id}`)).json();

    const erased = await remove(tenant, id, 'input');
    expect([erased.status, erased.json()]).toEqual([
      200,
      { ...before, input: {}, updated_at: expect.any(String) as string },
    ]);
    expect(await tablesWith(suite.db, prompt)).toEqual([]);
    const again = await remove(tenant, id, 'input');
    expect([again.status, again.text]).toEqual([200, erased.text]);
    // The same request again is still a replay, of an answer without its input.
    const replay = await create(suite.api.url, tenant, { key, body });
    expect([replay.status, replay.headers['idempotent-replayed'], replay.json()]).toEqual([
      202,
      'true',
      expect.objectContaining({ id, input: {}, metadata: { mine: 'label' } }),
    ]);
    expect(await tablesWith(suite.db, prompt)).toEqual([]);
  });

  it('deletes the input files that nothing else uses', async () => {
    const tenant = await newTenant(suite.db);
    const [mine, shared, first, second] = await Promise.all([
      storedInput(suite, tenant),
      storedInput(suite, tenant),
      succeeded(suite, tenant),
      succeeded(suite, tenant),
    ]);
    await suite.db.prisma.generationInput.createMany({
      data: [
        { generationId: first, field: 'image_url', inputId: mine },
        { generationId: first, field: 'tail_image_url', inputId: shared },
        { generationId: second, field: 'image_url', inputId: shared },
      ],
    });
    const links = [mine, shared].map((inputId) => signedLink(suite, tenant, { kind: 'input', inputId }));
    const statuses = async () =>
      Promise.all(links.map(async (path) => (await fetchFile(suite.api.url, path)).status));
    expect(await statuses()).toEqual([200, 200]);
    expect((await remove(tenant, first, 'input')).status).toBe(200);
    expect(await statuses()).toEqual([404, 200]);
    expect((await remove(tenant, second, 'input')).status).toBe(200);
    expect(await statuses()).toEqual([404, 404]);
    expect((await outputOf(suite.api.url, tenant, first)).url).not.toBeNull();
  });

  it('of one tenant only', async () => {
    const [owner, other] = await Promise.all([newTenant(suite.db), newTenant(suite.db)]);
    const id = await succeeded(suite, owner);
    expect(codeOf(await remove(other, id, 'input'))).toEqual([404, 'generation_not_found']);
    expect((await get(suite.api.url, owner, `/v1/generations/${id}`)).json()['input']).toMatchObject(
      BODY.input,
    );
  });
});
