import type { SubmitAnswer } from '../domain/provider.ts';
import { parseRetryAfterMs } from '../domain/retry-after.ts';
import type { OutboundAnswer } from '../net/types.ts';
import { INFRO_SUBMIT_ANSWERS } from './infro-answers.ts';
import { infroAccepted, infroError } from './infro-schemas.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';
import { meaningOf } from './submit-answers.ts';

/** What INFRO's answer to a submit proves; reasons are codes, never INFRO's own text. */
export function readInfroSubmit(answer: OutboundAnswer, nowMs: number): SubmitAnswer {
  if (answer.kind === 'not_sent') return { kind: 'not_sent', reason: answer.reason };
  if (answer.kind === 'interrupted') return { kind: 'unknown', reason: answer.reason };
  const body = parseJsonBytes(answer.body);
  if (answer.status === 200 || answer.status === 201 || answer.status === 202) {
    const job = infroAccepted.safeParse(body);
    if (!job.success) return { kind: 'unknown', reason: `http_${answer.status}:unreadable` };
    return { kind: 'accepted', handle: { jobId: job.data.id }, status: safeCode(job.data.status) };
  }
  const parsed = infroError.safeParse(body);
  const code = parsed.data?.error.code ?? null;
  const type = parsed.data?.error.type ?? null;
  const reason = code === null ? `http_${answer.status}` : `http_${answer.status}:${safeCode(code)}`;
  const meaning = meaningOf(INFRO_SUBMIT_ANSWERS, { status: answer.status, code, type });
  if (meaning.kind === 'refused') return { kind: 'refused', code: meaning.code, reason };
  if (meaning.kind === 'unknown') return { kind: 'unknown', reason };
  return { kind: 'capacity', reason, retryAfterMs: parseRetryAfterMs(answer.headers['retry-after'], nowMs) };
}
