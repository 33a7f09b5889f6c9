import { describe, expect, it } from 'vitest';
import { submissionId } from '../../src/domain/submission-id.ts';
import { useDatabase } from '../db/database.ts';
import { accepted, newTenant, receive } from '../db/fixtures.ts';
import { commandsOn, jsonOf } from './run.ts';

const test = useDatabase();
const darkroom = commandsOn({ databaseUrl: () => test.url });

describe('darkroom inbox', () => {
  it('lists without bodies; show prints one only with --body', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    const submission = submissionId(id, 1);
    await receive(test.db, { submissionId: submission, terminal: true });
    await receive(test.db, { submissionId: null, jobId: `stray-${id}`, provider: 'kling' });
    const list = async (...args: string[]) =>
      jsonOf(await darkroom('inbox', 'list', '--json', ...args)) as {
        id: string;
        generation: string | null;
      }[];
    const [mine, ...others] = await list('--submission', submission);
    expect([mine?.generation, others]).toEqual([id, []]);
    expect(await list('--generation', id, '--unseen')).toHaveLength(1);
    expect(await list('--job', `stray-${id}`, '--unmatched', '--provider', 'kling')).toHaveLength(1);
    expect((await darkroom('inbox', 'list', '--submission', submission)).stdout).toMatch(
      new RegExp(`^${mine!.id} +\\S+Z +infro +job.updated +yes +not yet +${submission}$`, 'm'),
    );
    expect((await darkroom('inbox', 'list', '--job', 'none')).stdout).toBe('No such callback.\n');
    const shown = await darkroom('inbox', 'show', mine!.id);
    expect(shown.stdout).toMatch(/^body +12 bytes \(--body prints them\)$/m);
    expect(shown.stdout).not.toMatch(/raw\\?":/);
    expect((await darkroom('inbox', 'show', mine!.id, '--json')).stdout).not.toMatch(/raw\\?":/);
    expect((await darkroom('inbox', 'show', mine!.id, '--body')).stdout).toMatch(/\n\{"raw":true\}\n$/);
    expect(jsonOf(await darkroom('inbox', 'show', mine!.id, '--body', '--json'))).toMatchObject({
      id: mine!.id,
      submission,
      body: '{"raw":true}',
    });
    for (const unknown of ['cbk_999999999', 'x']) {
      expect(await darkroom('inbox', 'show', unknown)).toMatchObject({
        code: 1,
        stderr: `There is no callback ${unknown}: see "darkroom inbox list".\n`,
      });
    }
  });
});
