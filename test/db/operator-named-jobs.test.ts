import { describe, expect, it } from 'vitest';
import { loadGeneration } from '../../src/db/index.ts';
import { attachJobByOperator, declareNotAccepted } from '../../src/db/operator-actions.ts';
import { noteNamedJob } from '../../src/db/submissions.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { useDatabase } from './database.ts';
import { receive } from './fixtures.ts';
import { makeRow } from './rows.ts';

const test = useDatabase();
const by = (generationId: string) => ({
  generationId,
  actor: 'cli:ann',
  reason: 'not in the console',
  submission: null,
});

describe('a job that was named and could not be asked for', () => {
  it.each(['a callback', 'an operator'])(
    'by %s: the submission is not declared dead before the provider has answered',
    async (who) => {
      const { id } = await makeRow(test.db, 'unknown', { flagged: false, overdue: false });
      const jobId = `job-${id}`;
      if (who === 'an operator') await attachJobByOperator(test.db, { ...by(id), jobId });
      else await receive(test.db, { submissionId: submissionId(id, 1), jobId });
      await loadGeneration(test.db, { generationId: id, dueInMs: 60_000 });
      await noteNamedJob(test.db, { submissionId: submissionId(id, 1), problem: 'named_job_unavailable' });
      for (const resubmit of [true, false]) {
        expect(await declareNotAccepted(test.db, { ...by(id), resubmit })).toMatchObject({
          outcome: 'refused',
          why: 'job_named',
          jobId,
        });
      }
      await noteNamedJob(test.db, { submissionId: submissionId(id, 1), problem: 'named_job_not_found' });
      expect(await declareNotAccepted(test.db, { ...by(id), resubmit: true })).toMatchObject({
        outcome: 'done',
        effect: 'resubmitting',
      });
    },
  );
});
