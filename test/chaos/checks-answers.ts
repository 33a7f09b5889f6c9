import type { Books, Finding } from './open-books.ts';

/** After these the key is free and nothing was begun; others, like 503 and 429, say nothing of an earlier try. */
const DEFINITE = new Set([400, 402, 403, 404, 413, 415, 422]);

/** What the API answered, against the rows. */
export function checkAnswers(books: Books): Finding[] {
  return [
    ...takenWithoutRow(books),
    ...otherBytes(books),
    ...notEnded(books),
    ...leftByRefusals(books),
    ...nobodyAsked(books),
    ...books.world.oddAnswers.map(({ request, status, body }) => ({
      check: 'no answer is odd',
      generation: null,
      problem: `${request}: ${status} ${body}`,
    })),
  ];
}

function takenWithoutRow({ world, rowOf }: Books): Finding[] {
  return world.asked.flatMap(({ id, idempotencyKey, account }) => {
    if (id === null) return [];
    const row = rowOf.get(id);
    if (row === undefined) return [{ check: 'a 202 has its row', generation: id, problem: 'it has none' }];
    const isIts = row.idempotencyKey === idempotencyKey && row.account.name === account;
    const problem = `its row has key ${row.idempotencyKey} and account ${row.account.name}`;
    return isIts ? [] : [{ check: 'a 202 has its row', generation: id, problem }];
  });
}

function otherBytes({ world, rowOf }: Books): Finding[] {
  return world.asked.flatMap(({ id, answers }) => {
    const stored = rowOf.get(id ?? '')?.responseBody;
    const other = stored === undefined ? undefined : answers.find((answer) => answer !== stored);
    if (other === undefined) return [];
    return [{ check: 'a repeat has the same bytes', generation: id, problem: `${other} is not ${stored}` }];
  });
}

function notEnded({ rows }: Books): Finding[] {
  return rows
    .filter(({ completedAt }) => completedAt === null)
    .map(({ id, state, stage, operatorReason, dueAt }) => ({
      check: 'every generation has ended',
      generation: id,
      problem: `${state}, ${stage} ${operatorReason ?? ''}, due at ${dueAt?.toISOString() ?? 'never'}`,
    }));
}

function leftByRefusals(books: Books): Finding[] {
  const { world, rows, jobs } = books;
  const byKey = new Map(rows.map((row) => [row.idempotencyKey, row]));
  const check = 'a refusal leaves nothing';
  return world.asked.flatMap(({ id, status, idempotencyKey, prompt }): Finding[] => {
    if (id !== null || status === null || !DEFINITE.has(status)) return [];
    const row = byKey.get(idempotencyKey);
    if (row !== undefined) return [{ check, generation: row.id, problem: `answered with ${status}` }];
    const job = jobs.find((one) => one.prompt === prompt);
    if (job === undefined) return [];
    return [{ check, generation: null, problem: `${status}, and ${job.provider} has the job ${job.id}` }];
  });
}

function nobodyAsked({ rows, askedFor }: Books): Finding[] {
  return rows
    .filter(({ idempotencyKey }) => !askedFor.has(idempotencyKey))
    .map(({ id, idempotencyKey }) => ({
      check: 'a row was asked for',
      generation: id,
      problem: `nobody used the key ${idempotencyKey}`,
    }));
}
