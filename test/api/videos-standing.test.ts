/** Which videos are still videos, in every call: what was deleted is gone, what was paid for and is there stays. */
import { describe, expect, it } from 'vitest';
import { settle } from '../../src/db/index.ts';
import { observe } from '../db/fixtures.ts';
import { finish } from '../db/finish.ts';
import { CONTENT, fetchFile, succeeded, useFiles } from './files.ts';
import { send } from './client.ts';
import { get, newTenant, rowsOf, type TestTenant } from './tenants.ts';
import {
  asReplica,
  cancel,
  complete,
  createVideo,
  del,
  errorOf,
  idOf,
  messageOf,
  running,
  WISH,
} from './videos.ts';

const suite = useFiles();
const url = () => suite.api.url;

/** `DELETE` of a part of it at the first front door. */
async function remove(tenant: TestTenant, id: string, part: 'input' | 'outputs'): Promise<void> {
  const headers = { Authorization: `Bearer ${tenant.key}` };
  const { status, text } = await send(url(), {
    method: 'DELETE',
    path: `/v1/generations/${id}/${part}`,
    headers,
  });
  if (status >= 300) throw new Error(text);
}

async function askCancel(tenant: TestTenant, id: string): Promise<void> {
  const { status, text } = await cancel(url(), tenant, id);
  if (status !== 202) throw new Error(text);
}

type Way = (tenant: TestTenant, id: string) => Promise<unknown>;
const FATES: readonly [name: string, way: Way, stands: boolean][] = [
  ['waits', async () => {}, true],
  ['runs', (_, id) => running(suite.db, id), true],
  ['is finished', (_, id) => complete(suite.db, id), true],
  [
    'failed',
    async (_, id) => {
      await running(suite.db, id);
      await observe(suite.db, id, 'failed');
      await finish(suite.db, id);
    },
    false,
  ],
  [
    'expired',
    async (_, id) => {
      await running(suite.db, id);
      await asReplica(
        suite.db,
        `UPDATE generation SET created_at = created_at - interval '1 minute', deadline_at = created_at WHERE id = $1`,
        id,
      );
      const { outcome } = await settle(suite.db, id, { state: 'expired', errorCode: 'deadline_exceeded' });
      if (outcome !== 'settled') throw new Error(outcome);
    },
    false,
  ],
  ['was cancelled', (tenant, id) => cancel(url(), tenant, id), false],
  [
    'is asked to be cancelled, which is undecided',
    async (tenant, id) => {
      await running(suite.db, id);
      await askCancel(tenant, id);
    },
    false,
  ],
  [
    'goes on in spite of a cancel',
    async (tenant, id) => {
      await running(suite.db, id);
      await askCancel(tenant, id);
      await observe(suite.db, id, 'running', { cancelSent: true, cancelOutcome: 'unsupported' });
    },
    true,
  ],
  [
    'is finished, its prompt erased by the other door',
    async (tenant, id) => {
      await complete(suite.db, id);
      await remove(tenant, id, 'input');
    },
    true,
  ],
  [
    'has lost its file by the other door, or by a deletion that was cut between its steps',
    async (tenant, id) => {
      await complete(suite.db, id);
      await remove(tenant, id, 'outputs');
    },
    false,
  ],
  [
    'was deleted',
    async (tenant, id) => {
      await complete(suite.db, id);
      await del(url(), tenant, id);
    },
    false,
  ],
];

describe('an equal request without a key, of one that', () => {
  it.each(FATES)('%s', async (_name, way, stands) => {
    const tenant = await newTenant(suite.db);
    const first = idOf(await createVideo(url(), tenant));
    await way(tenant, first);
    const again = await createVideo(url(), tenant);
    expect(idOf(again) === first).toBe(stands);
    expect(again.headers['idempotent-replayed']).toBe(stands ? 'true' : undefined);
    // And the next one is this one again, whichever it was.
    expect(idOf(await createVideo(url(), tenant))).toBe(idOf(again));
    expect(await rowsOf(suite.db, tenant.id)).toMatchObject({ generations: stands ? 1 : 2 });
  });
});

describe('a stored video whose prompt was erased by the other door', () => {
  it('is shown, listed and downloaded, without the prompt, until it is deleted', async () => {
    const tenant = await newTenant(suite.db);
    const id = await succeeded(suite, tenant);
    await remove(tenant, id, 'input');
    const shown = (await get(url(), tenant, `/v1/videos/${id}`)).json();
    expect(shown).toMatchObject({ id, status: 'completed', prompt: null });
    expect((await get(url(), tenant, '/v1/videos')).json()).toMatchObject({ data: [shown] });
    const file = await fetchFile(url(), `/v1/videos/${id}/content`, {
      headers: { Authorization: `Bearer ${tenant.key}` },
    });
    expect([file.status, file.bytes.equals(CONTENT)]).toEqual([200, true]);
    expect((await del(url(), tenant, id)).status).toBe(200);
    for (const path of [id, `${id}/content`]) {
      const gone = await get(url(), tenant, `/v1/videos/${path}`);
      expect(errorOf(gone)).toEqual([404, 'video_not_found', null]);
    }
    expect((await get(url(), tenant, '/v1/videos')).json()).toMatchObject({ data: [], has_more: false });
  });

  it('is gone once its outputs are', async () => {
    const tenant = await newTenant(suite.db);
    const id = await succeeded(suite, tenant);
    await remove(tenant, id, 'input');
    await remove(tenant, id, 'outputs');
    expect(errorOf(await get(url(), tenant, `/v1/videos/${id}`))).toEqual([404, 'video_not_found', null]);
    expect((await get(url(), tenant, '/v1/videos')).json()).toMatchObject({ data: [] });
  });
});

describe('the key of a deleted video', () => {
  it('stays taken, and gives no video that is not there', async () => {
    const tenant = await newTenant(suite.db);
    const key = { 'Idempotency-Key': 'deleted' };
    const id = idOf(await createVideo(url(), tenant, WISH, key));
    await complete(suite.db, id);
    expect(idOf(await createVideo(url(), tenant, WISH, key))).toBe(id);
    await del(url(), tenant, id);
    const again = await createVideo(url(), tenant, WISH, key);
    expect(errorOf(again)).toEqual([404, 'video_not_found', null]);
    expect(messageOf(again)).toContain('send a new key');
    const other = await createVideo(url(), tenant, { ...WISH, prompt: 'x' }, key);
    expect(errorOf(other)).toEqual([422, 'idempotency_key_reuse', null]);
    expect(await rowsOf(suite.db, tenant.id)).toMatchObject({ generations: 1 });
  });
});
