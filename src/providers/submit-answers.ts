import type { FailedCode } from '../domain/errors.ts';

/** One row of a provider's answer table: all given conditions must hold; the first row that fits decides. */
export interface SubmitAnswerRule {
  readonly statuses: readonly number[] | 'any';
  /** Matched against the error code of the body; absent = any answer, even an unreadable one. */
  readonly code?: RegExp;
  /** Matched against the error type of the body. */
  readonly type?: RegExp;
  readonly means:
    | { readonly kind: 'refused'; readonly code: FailedCode }
    | { readonly kind: 'capacity' }
    | { readonly kind: 'unknown' };
}

function statusFits(statuses: SubmitAnswerRule['statuses'], status: number): boolean {
  return statuses === 'any' || statuses.includes(status);
}

/** What an error answer means by the table; what no row lists proves nothing, so it is `unknown`. */
export function meaningOf(
  rules: readonly SubmitAnswerRule[],
  answer: { readonly status: number; readonly code: string | null; readonly type: string | null },
): SubmitAnswerRule['means'] {
  const rule = rules.find(
    (candidate) =>
      statusFits(candidate.statuses, answer.status) &&
      (candidate.code === undefined || (answer.code !== null && candidate.code.test(answer.code))) &&
      (candidate.type === undefined || (answer.type !== null && candidate.type.test(answer.type))),
  );
  return rule?.means ?? { kind: 'unknown' };
}
