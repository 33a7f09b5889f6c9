import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findOutputFile } from '../../src/db/index.ts';
import { newId } from '../../src/domain/ids.ts';
import { createStorage } from '../../src/storage/index.ts';
import { generationOf } from '../db/facts.ts';
import { useDatabase } from '../db/database.ts';
import { create, newTenant, store, storing } from '../db/fixtures.ts';
import type { Tenant } from '../db/fixtures.ts';
import { captured } from '../db/money.ts';
import { endedGeneration } from '../db/webhooks.ts';
import { commandsOn, jsonOf } from './run.ts';

const test = useDatabase();
let folder = '';
const darkroom = commandsOn({ databaseUrl: () => test.url, storageUrl: () => `file:${folder}` });
const actionsOf = (tenant: Tenant) =>
  test.db.prisma.operatorAction.findMany({ where: { tenantId: tenant.id }, orderBy: { id: 'asc' } });
const NO_TENANT = newId('ten');

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'darkroom-tidying-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('darkroom tenant retention', () => {
  it('hours or the default, on record', async () => {
    const tenant = await newTenant(test.db);
    const set = (hours: string, ...args: string[]) =>
      darkroom('tenant', 'retention', tenant.id, hours, ...args);
    expect(await set('48', '--actor', 'ann', '--reason', 'contract 7')).toEqual({
      code: 0,
      stdout: `${tenant.id}: kept for 48 hours, from now on\n`,
      stderr: '',
    });
    const row = () => test.db.prisma.tenant.findUniqueOrThrow({ where: { id: tenant.id } });
    expect((await row()).retentionHours).toBe(48);
    expect(jsonOf(await set('default', '--json'))).toEqual({ tenant: tenant.id, retention_hours: null });
    expect((await row()).retentionHours).toBeNull();
    expect((await set('default')).stdout).toBe(`${tenant.id}: kept for 30 days, the default, from now on\n`);
    expect((await actionsOf(tenant))[0]).toMatchObject({
      kind: 'retention',
      actor: 'cli:ann',
      reason: 'contract 7',
      detail: { hours: 48 },
    });
  });

  it.each(['23', '87601', '-1', '24.5', 'never', ''])('%j hours are refused', async (hours) => {
    const tenant = await newTenant(test.db);
    const { code, stderr } = await darkroom('tenant', 'retention', tenant.id, '--', hours);
    expect([code, await actionsOf(tenant)]).toEqual([2, []]);
    expect(stderr).toContain('Write a whole number of hours from 24 to 87600, or default.');
  });

  it('1 when there is no such tenant', async () => {
    expect(await darkroom('tenant', 'retention', NO_TENANT, '24')).toEqual({
      code: 1,
      stdout: '',
      stderr: `There is no tenant ${NO_TENANT}: see "darkroom tenant list".\n`,
    });
  });
});

describe('darkroom tenant rotate-links', () => {
  it('a new key; links made before work for a day, or for what is said', async () => {
    const tenant = await newTenant(test.db);
    const id = await captured(test.db, tenant);
    const versions = async () => (await findOutputFile(test.db, id, 0))!.signer.linkVersions;
    expect(await darkroom('tenant', 'rotate-links', tenant.id)).toMatchObject({
      code: 0,
      stdout: `${tenant.id}: links have a new key; those made before work for 24 hours more\n`,
    });
    expect(await versions()).toEqual([2, 1]);
    const none = await darkroom('tenant', 'rotate-links', tenant.id, '--overlap-hours', '0');
    expect(none.stdout).toBe(`${tenant.id}: links have a new key; all made before have ended\n`);
    expect(await versions()).toEqual([3]);
    const json = await darkroom('tenant', 'rotate-links', tenant.id, '--overlap-hours', '168', '--json');
    expect(jsonOf(json)).toEqual({ tenant: tenant.id, overlap_hours: 168 });
    expect((await actionsOf(tenant)).map(({ kind, detail }) => [kind, detail])).toEqual([
      ['rotate_links', { overlapMs: 86_400_000 }],
      ['rotate_links', { overlapMs: 0 }],
      ['rotate_links', { overlapMs: 604_800_000 }],
    ]);
  });

  it('refuses a longer overlap than links live, and a tenant that does not exist', async () => {
    const tenant = await newTenant(test.db);
    for (const hours of ['169', '1.5', 'x']) {
      const { code, stderr } = await darkroom('tenant', 'rotate-links', tenant.id, '--overlap-hours', hours);
      expect([code, stderr]).toEqual([2, expect.stringContaining('from 0 to 168')]);
    }
    expect(await darkroom('tenant', 'rotate-links', NO_TENANT)).toMatchObject({ code: 1, stdout: '' });
    expect(await actionsOf(tenant)).toEqual([]);
  });
});

describe('darkroom generation erase', () => {
  it('only with --yes, only when it has ended; on record', async () => {
    const tenant = await newTenant(test.db);
    const [ended, running] = [await endedGeneration(test.db, tenant), await create(test.db, tenant)];
    expect(await darkroom('generation', 'erase', ended)).toEqual({
      code: 2,
      stdout: '',
      stderr: `The input of ${ended} would be gone for good: add --yes.\n`,
    });
    expect((await generationOf(test.db, ended)).erasedAt).toBeNull();
    expect(await darkroom('generation', 'erase', running, '--yes')).toMatchObject({
      code: 1,
      stderr: `${running} has not ended: cancel it, or try again when it has.\n`,
    });
    for (const id of ['gen_x', newId('gen')]) {
      expect(await darkroom('generation', 'erase', id, '--yes')).toMatchObject({
        code: 1,
        stderr: `There is no generation ${id}.\n`,
      });
    }
    expect(await darkroom('generation', 'erase', ended, '--yes', '--actor', 'ann')).toEqual({
      code: 0,
      stdout: `${ended}: erased; its outputs stay until they expire or are deleted\n`,
      stderr: '',
    });
    expect(await generationOf(test.db, ended)).toMatchObject({
      erasedAt: expect.any(Date) as Date,
      input: {},
    });
    const again = await darkroom('generation', 'erase', ended, '--yes', '--json');
    expect(jsonOf(again)).toEqual({ id: ended, outcome: 'erased' });
    expect(await actionsOf(tenant)).toMatchObject([
      { kind: 'erase', generationId: ended, actor: 'cli:ann', reason: 'erasure asked for' },
    ]);
    expect((await darkroom('generation', 'show', ended)).stdout).toMatch(/operator 1 .* erase by cli:ann/);
  });
});

describe('darkroom files remove-orphans', () => {
  async function write(path: string): Promise<string> {
    const file = await createStorage(`file:${folder}`).create(path);
    await file.write(Buffer.from('bytes'));
    await file.commit();
    const then = new Date(Date.now() - 26 * 3_600_000);
    await utimes(join(folder, path), then, then);
    return path;
  }

  it('lists them with --dry-run, removes them without', async () => {
    const id = await storing(test.db, await newTenant(test.db));
    await store(test.db, id, { path: await write(`${id}/0-1`) });
    const orphan = await write(`${newId('gen')}/0-1`);
    expect(await darkroom('files', 'remove-orphans', '--dry-run')).toEqual({
      code: 0,
      stdout: `${orphan}\n1 of 2 old files have no row; nothing was removed\n`,
      stderr: '',
    });
    expect(jsonOf(await darkroom('files', 'remove-orphans', '--dry-run', '--json'))).toEqual({
      dry_run: true,
      seen: 2,
      orphans: [orphan],
      removed: 0,
      failed: 0,
      more: false,
    });
    expect(await darkroom('files', 'remove-orphans')).toEqual({
      code: 0,
      stdout: '1 of 2 old files had no row and are removed\n',
      stderr: '',
    });
    expect((await readdir(folder)).filter((name) => name.startsWith('gen_'))).toEqual([id]);
    expect(jsonOf(await darkroom('files', 'remove-orphans', '--json'))).toMatchObject({
      seen: 1,
      orphans: [],
    });
  });

  it('refuses when most old files have no row, until it is forced', async () => {
    await Promise.all(Array.from({ length: 21 }, () => write(`${newId('gen')}/0-1`)));
    const { code, stdout, stderr } = await darkroom('files', 'remove-orphans');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^21 of 22 old files have no row, so nothing was removed: check that DATABASE_URL and/,
    );
    expect(jsonOf(await darkroom('files', 'remove-orphans', '--dry-run', '--json'))).toMatchObject({
      seen: 22,
    });
    expect(jsonOf(await darkroom('files', 'remove-orphans', '--force', '--json'))).toMatchObject({
      removed: 21,
    });
  });
});
