import { z } from 'zod';
import type { Db } from './client.ts';
import type { LoadedSubmission } from './load-generation.ts';

const requestSchema = z.object({ path: z.string(), body: z.string() });

/** What a job that was accepted for a submission is attached with. */
export type AttachableSubmission = Pick<LoadedSubmission, 'id' | 'provider' | 'credential' | 'request'>;

/** A submission by its id, whether or not it is the last of its generation; null when there is no such row. */
export async function findSubmission(db: Db, submissionId: string): Promise<AttachableSubmission | null> {
  const row = await db.prisma.submission.findUnique({
    where: { id: submissionId },
    select: { id: true, provider: true, credential: true, request: true },
  });
  return row && { ...row, request: requestSchema.parse(row.request) };
}
