import { describe, expect, it } from 'vitest';
import { deleteOutputs, rotateLinks } from '../../src/db/index.ts';
import { send } from './client.ts';
import {
  CONTENT,
  fetchFile,
  linkOf,
  outputOf,
  sha256,
  signedLink,
  storedInput,
  succeeded,
  toWindowStart,
  useFiles,
} from './files.ts';
import { codeOf } from './suite.ts';
import { get, newTenant } from './tenants.ts';

const suite = useFiles();
const TAG = `"sha256-${sha256(CONTENT)}"`;

const fetchIt = (path: string, headers: Record<string, string | string[]> = {}, method = 'GET') =>
  fetchFile(suite.api.url, path, { headers, method });
const ask = (path: string, headers: Record<string, string> = {}) => send(suite.api.url, { path, headers });

describe('a link of outputs[].url', () => {
  it('gives the stored bytes, and says what a browser may do with them', async () => {
    toWindowStart(suite);
    const tenant = await newTenant(suite.db);
    const id = await succeeded(suite, tenant);
    const output = await outputOf(suite.api.url, tenant, id);
    const answer = await fetchIt(output.url!);
    expect([answer.status, sha256(answer.bytes)]).toEqual([200, output.sha256]);
    expect(answer.headers).toMatchObject({
      'content-type': 'video/mp4',
      'content-length': '100',
      'accept-ranges': 'bytes',
      etag: TAG,
      'content-disposition': `inline; filename="${id}-0.mp4"`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': 'private, max-age=3600',
    });
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    const head = await fetchIt(output.url!, {}, 'HEAD');
    const { date: _, ...headers } = answer.headers;
    expect([head.status, head.bytes.length]).toEqual([200, 0]);
    expect(head.headers).toMatchObject({ ...headers, 'x-request-id': expect.any(String) });
  });

  it('is the same text in each answer for a while, so that its ETag stands', async () => {
    const tenant = await newTenant(suite.db);
    const path = `/v1/generations/${await succeeded(suite, tenant)}`;
    toWindowStart(suite);
    const first = await get(suite.api.url, tenant, path);
    const second = await get(suite.api.url, tenant, path);
    expect(second.text).toBe(first.text);
    expect(second.headers.etag).toBe(first.headers.etag);
    expect((await get(suite.api.url, tenant, path, { 'If-None-Match': first.headers.etag! })).status).toBe(
      304,
    );
    suite.clock.aheadMs += 900_000;
    const later = await get(suite.api.url, tenant, path);
    expect(later.headers.etag).not.toBe(first.headers.etag);
  });

  it('F1 a day later the old link has expired, and reading the generation again gives one that works', async () => {
    const tenant = await newTenant(suite.db);
    const id = await succeeded(suite, tenant);
    const old = await linkOf(suite.api.url, tenant, id);
    suite.clock.aheadMs = 20 * 3_600_000;
    expect(codeOf(await ask(old))).toEqual([403, 'link_expired']);
    const fresh = await linkOf(suite.api.url, tenant, id);
    expect(sha256((await fetchIt(fresh)).bytes)).toBe(sha256(CONTENT));
  });

  it('never outlives its file, and may be cached for the rest of its life only', async () => {
    const tenant = await newTenant(suite.db);
    const id = await succeeded(suite, tenant);
    const { expires_at: end } = await outputOf(suite.api.url, tenant, id);
    suite.clock.aheadMs = Date.parse(end) - Date.now() - 90_000;
    const output = await outputOf(suite.api.url, tenant, id);
    expect(Date.parse(output.url_expires_at!)).toBeLessThanOrEqual(Date.parse(end));
    const { headers } = await fetchIt(output.url!);
    const age = Number(/^private, max-age=(\d+)$/.exec(headers['cache-control']!)![1]);
    expect(age).toBeGreaterThan(60);
    expect(age).toBeLessThanOrEqual(90);
    suite.clock.aheadMs += 90_000;
    expect(codeOf(await ask(output.url!))).toEqual([403, 'link_expired']);
    expect(await outputOf(suite.api.url, tenant, id)).toMatchObject({ url: null, url_expires_at: null });
  });

  it('of an input works alike', async () => {
    const tenant = await newTenant(suite.db);
    const inputId = await storedInput(suite, tenant);
    const answer = await fetchIt(signedLink(suite, tenant, { kind: 'input', inputId }));
    expect([answer.status, answer.bytes.equals(CONTENT)]).toEqual([200, true]);
    expect(answer.headers).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': `inline; filename="${inputId}.png"`,
      etag: TAG,
    });
  });

  it('DL-5 what a browser could run is saved, never shown', async () => {
    const tenant = await newTenant(suite.db);
    for (const mediaType of ['image/svg+xml', 'text/html', 'application/pdf']) {
      const id = await succeeded(suite, tenant, { mediaType });
      const { headers } = await fetchIt(await linkOf(suite.api.url, tenant, id));
      expect(headers).toMatchObject({
        'content-type': mediaType,
        'content-disposition': `attachment; filename="${id}-0.bin"`,
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; sandbox",
      });
    }
  });
});

describe('a link is dead at once', () => {
  it('when its file is deleted: 404 for whoever has a valid one, and nothing else for others', async () => {
    const tenant = await newTenant(suite.db);
    const id = await succeeded(suite, tenant);
    const link = await linkOf(suite.api.url, tenant, id);
    await deleteOutputs(suite.db, { generationId: id, tenantId: tenant.id });
    expect(codeOf(await ask(link))).toEqual([404, 'file_not_found']);
    expect(codeOf(await ask(`${link}&`))).toEqual([403, 'link_invalid']);
    expect((await fetchIt(link, { 'If-None-Match': TAG }, 'HEAD')).status).toBe(404);
    // The file itself goes later.
    expect(await suite.storage.stat(`${id}/0-1`)).not.toBeNull();
  });

  it('SURL-9 when the tenant’s key was rotated and the overlap is over', async () => {
    const [tenant, other] = await Promise.all([newTenant(suite.db), newTenant(suite.db)]);
    const id = await succeeded(suite, tenant);
    const old = await linkOf(suite.api.url, tenant, id);
    const others = await linkOf(suite.api.url, other, await succeeded(suite, other));
    const record = { actor: 'test', reason: 'test' };
    await rotateLinks(suite.db, { tenantId: tenant.id, overlapMs: 60_000, ...record });
    const fresh = await linkOf(suite.api.url, tenant, id);
    expect(fresh).not.toBe(old);
    expect([(await ask(old)).status, (await ask(fresh)).status]).toEqual([200, 200]);
    await suite.db.prisma.tenant.update({
      where: { id: tenant.id },
      data: { previousLinksUntil: new Date(Date.now() - 1_000) },
    });
    expect(codeOf(await ask(old))).toEqual([403, 'link_invalid']);
    expect([(await ask(fresh)).status, (await ask(others)).status]).toEqual([200, 200]);
  });
});

it('J2 LOG-1 no link and no signature is ever logged: a line has the route’s template', () => {
  const lines = suite.api.logs.filter((line) => line.includes('/files/'));
  expect(lines.length).toBeGreaterThan(10);
  for (const line of suite.api.logs) expect(line).not.toMatch(/signature|expires=|files\/\w+\/(?!\{)/);
  expect(new Set(lines.map((line) => (JSON.parse(line) as { route: string }).route))).toEqual(
    new Set(['/files/outputs/{generation}/{index}', '/files/inputs/{input}']),
  );
});
