import { describe, expect, it } from 'vitest';
import { eventually } from '../simulators/control.ts';
import { createSlots } from '../../src/services/slots.ts';
import { startApi } from './api.ts';
import { begin, INFECTED, newFiles, PICTURE, upload, useFiles, type Upload } from './inputs.ts';
import { codeOf, useApi } from './suite.ts';
import { newTenant, type TestTenant } from './tenants.ts';

const room = useFiles();
const suite = useApi(room.parts);
const MAX = 67_108_864;

const sent = (tenant: TestTenant, file: Upload = {}) => upload(suite.api.url, tenant, file);
const rowsOf = (tenant: TestTenant) =>
  suite.db.prisma.storedInput.findMany({ where: { tenantId: tenant.id } });

describe('the size of an upload', () => {
  it('64 MiB are taken, one byte more is 413, told or not', async () => {
    const tenant = await newTenant(suite.db);
    // Bytes after the end of a picture belong to the file, and to nobody's reading.
    const largest = Buffer.alloc(MAX);
    PICTURE.copy(largest);
    const left = await newFiles(room, async () => {
      expect((await sent(tenant, { body: largest, key: 'largest' })).json()).toMatchObject({ bytes: MAX });
    });
    expect(left.map(({ length }) => length)).toEqual([MAX]);
    const more = await newFiles(room, async () => {
      const above = Buffer.alloc(MAX + 1);
      PICTURE.copy(above);
      expect(codeOf(await sent(tenant, { body: above }))).toEqual([413, 'body_too_large']);
      const chunked = { 'Transfer-Encoding': 'chunked' };
      expect(codeOf(await sent(tenant, { body: above, headers: chunked }))).toEqual([413, 'body_too_large']);
    });
    expect(more).toEqual([]);
    expect(await rowsOf(tenant)).toHaveLength(1);
  });

  it('a sender that leaves in the middle leaves nothing behind', async () => {
    const tenant = await newTenant(suite.db);
    const before = new Set((await room.files()).keys());
    await (await begin(room, suite.api.url, tenant, 'left')).cut();
    await eventually(
      async () => ([...(await room.files()).keys()].every((path) => before.has(path)) ? true : undefined),
      10_000,
    );
    expect(await rowsOf(tenant)).toEqual([]);
    // The key is free.
    expect((await sent(tenant, { key: 'left' })).status).toBe(201);
  });
});

describe('many uploads at once', () => {
  it('above the places of this process: 503 busy with Retry-After; a place is free again after each end', async () => {
    const inputSlots = {
      uploads: createSlots({ total: 2, perOwner: 1 }),
      fetches: createSlots({ total: 1, perOwner: 1 }),
    };
    const api = await startApi(suite.db, { ...room.parts, inputSlots });
    const tenants = await Promise.all([1, 2, 3].map(() => newTenant(suite.db)));
    const busy = async (tenant: TestTenant) => {
      const answer = await upload(api.url, tenant);
      return [...codeOf(answer), answer.headers['retry-after']];
    };
    const first = await begin(room, api.url, tenants[0]!);
    // One tenant takes no more than its share.
    expect(await busy(tenants[0]!)).toEqual([503, 'busy', '5']);
    const second = await begin(room, api.url, tenants[1]!);
    expect(await busy(tenants[2]!)).toEqual([503, 'busy', '5']);
    expect([await first.end(), await second.end()]).toEqual([201, 201]);
    expect((await upload(api.url, tenants[2]!)).status).toBe(201);
    // Failed ones give their place back too.
    for (const body of [INFECTED, Buffer.alloc(0), Buffer.from('text of no kind at all')]) {
      expect((await upload(api.url, tenants[2]!, { body })).status).not.toBe(503);
    }
    expect((await upload(api.url, tenants[2]!)).status).toBe(201);
    await api.close();
  });
});

describe('a storage that can not be written', () => {
  it('is 503 storage_unavailable, logged without the key, and free for the next try', async () => {
    const tenant = await newTenant(suite.db);
    const storage = { ...room.parts.storage };
    const api = await startApi(suite.db, {
      ...room.parts,
      storage: {
        ...storage,
        create: () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })),
      },
    });
    const answer = await upload(api.url, tenant, { key: 'secret-of-mine' });
    expect([...codeOf(answer), answer.headers['retry-after']]).toEqual([503, 'storage_unavailable', '5']);
    expect(api.logs.join('')).toContain('ENOSPC');
    expect(api.logs.join('')).not.toContain('secret-of-mine');
    await api.close();
    expect((await upload(suite.api.url, tenant, { key: 'secret-of-mine' })).status).toBe(201);
  });
});
