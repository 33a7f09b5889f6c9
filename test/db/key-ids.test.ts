import { describe, expect, it } from 'vitest';
import { liveCallbackKeyIds, postponeLateSearch, settle } from '../../src/db/index.ts';
import { declareNotAccepted } from '../../src/db/operator-actions.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { useDatabase } from './database.ts';
import { accept, answer, create, newTenant, observe, send } from './fixtures.ts';

const test = useDatabase();
let keys = 0;

/** A submission that expects its callback under a key of its own. */
async function sent(
  over: { readonly deadlineSeconds?: number } = {},
): Promise<{ id: string; fence: number; needed: () => Promise<boolean> }> {
  keys += 1;
  const callbackKeyId = `key-${keys}`;
  const id = await create(test.db, await newTenant(test.db), { deadlineSeconds: 0, ...over });
  const fence = await send(test.db, id, { callbackKeyId });
  return { id, fence, needed: async () => (await liveCallbackKeyIds(test.db)).includes(callbackKeyId) };
}

describe('the key of a callback token is needed', () => {
  it('by a job that was never known until the last late search, no longer', async () => {
    const { id, fence, needed } = await sent();
    expect(await needed()).toBe(true);
    await answer(test.db, id, fence, 'unknown');
    await settle(test.db, id, { state: 'expired', errorCode: 'submission_unresolved' });
    for (const left of [true, true, false]) {
      expect(await needed()).toBe(true);
      expect(await postponeLateSearch(test.db, submissionId(id, 1))).toBe(left);
    }
    expect(await needed()).toBe(false);
  });

  it('by a job that renders on until the last late look', async () => {
    const { id, needed } = await sent();
    await accept(test.db, id);
    await settle(test.db, id, { state: 'expired', errorCode: 'deadline_exceeded' });
    for (let looks = 0; looks < 3; looks += 1) {
      expect(await needed()).toBe(true);
      await observe(test.db, id, 'running');
    }
    expect(await needed()).toBe(false);
  });

  it('by one that was declared not accepted while its job is still searched for', async () => {
    const { id, fence, needed } = await sent();
    await answer(test.db, id, fence, 'unknown');
    const by = { actor: 'cli:ann', reason: 'not there', submission: null };
    await declareNotAccepted(test.db, { ...by, generationId: id, resubmit: false });
    expect(await needed()).toBe(true);
  });

  it('by one that was sent again, also after a search in vain: its generation is open, and its end plans more', async () => {
    const { id, fence, needed } = await sent({ deadlineSeconds: 900 });
    await answer(test.db, id, fence, 'unknown');
    const by = { actor: 'cli:ann', reason: 'not there', submission: null };
    await declareNotAccepted(test.db, { ...by, generationId: id, resubmit: true });
    expect(await postponeLateSearch(test.db, submissionId(id, 1))).toBe(false);
    expect(await needed()).toBe(true);
    await send(test.db, id, { ordinal: 2, callbackKeyId: null });
    await accept(test.db, id, `job-2-${id}`, 2);
    await observe(test.db, id, 'failed', { submissionId: submissionId(id, 2) });
    await settle(test.db, id, { state: 'failed', errorCode: 'provider_failed' });
    for (const left of [true, true, false]) {
      expect(await needed()).toBe(true);
      expect(await postponeLateSearch(test.db, submissionId(id, 1))).toBe(left);
    }
    expect(await needed()).toBe(false);
  });

  it('by no job that has ended', async () => {
    const { id, needed } = await sent();
    await accept(test.db, id);
    await observe(test.db, id, 'failed');
    expect(await needed()).toBe(false);
  });
});
