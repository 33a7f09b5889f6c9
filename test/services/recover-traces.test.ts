import { readFileSync } from 'node:fs';
import { Client, Connection } from '@temporalio/client';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterAll, describe, expect, it } from 'vitest';
import { traceOf } from '../../src/temporal/histories.ts';

const connection = Connection.lazy({ address: '127.0.0.1:1' });
afterAll(() => connection.close());
const { loadedDataConverter } = new Client({ connection }).options;

function historyOf(name: string) {
  const text = readFileSync(new URL(`../histories/${name}.json`, import.meta.url), 'utf8');
  return historyFromJSON((JSON.parse(text) as { history: unknown }).history);
}
const trace = (...names: readonly string[]) => traceOf(names.map(historyOf), loadedDataConverter);

describe('what recorded histories tell of submissions', () => {
  it.each(['callback', 'poll', 'unknown'])('%s: the one job, and where it was submitted', async (name) => {
    const { jobs, lastSubmit } = await trace(name);
    // Recorded by a version that did not tell which try it was.
    expect(jobs).toEqual([{ provider: 'infro', jobId: expect.any(String) as string, submissionId: null }]);
    expect(lastSubmit).toEqual({ provider: 'infro', submissionId: null });
  });

  it('failover: the last submit was at the second provider, which has the job', async () => {
    const { jobs, lastSubmit } = await trace('failover');
    expect(lastSubmit?.provider).toBe('aigenway');
    expect(jobs.map(({ provider }) => provider)).toEqual(['aigenway']);
  });

  it('a job that several runs name is told once; without a submit nothing is', async () => {
    expect((await trace('callback', 'callback')).jobs).toHaveLength(1);
    expect(await trace()).toEqual({ jobs: [], lastSubmit: null, refused: [] });
  });
});
