import { createHash } from 'node:crypto';
import { recordCallback } from '../db/index.ts';
import type { RecordedCallback } from '../db/record-callback.ts';
import { withoutTokens } from '../domain/callback-urls.ts';
import { callbackSecrets, verifyCallbackToken } from '../domain/keyring.ts';
import type { CallbackVerdict } from '../domain/provider.ts';
import {
  countCallbackChallenge,
  countCallbackFailure,
  countTakenCallback,
} from '../metrics/callback-metrics.ts';
import { OTHER_PROVIDER, type CallbackFailure } from '../metrics/labels.ts';
import type { CallbackProvider, ServiceContext } from './context.ts';
import { isTemporaryFailure } from './failures.ts';

export interface ReceiveCallbackInput {
  readonly provider: string;
  /** From the path; null on the account-level route: only for a provider that signs with an account's secret or key. */
  readonly token: string | null;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly rawBody: Uint8Array;
}

export type ReceiveCallbackOutcome =
  | {
      readonly outcome: 'taken';
      readonly record: RecordedCallback['outcome'];
      /** Whose job it is about, as far as that is known. */
      readonly generationId: string | null;
    }
  /** Verified, but about no job: nothing to keep. */
  | { readonly outcome: 'ignored' }
  /** The provider checks whether the URL is ours: nothing is kept, this JSON is the answer. */
  | { readonly outcome: 'challenge'; readonly answer: string }
  | { readonly outcome: 'unverified'; readonly proof: 'token' | 'signature' }
  | { readonly outcome: 'unknown_provider' | 'not_configured' | 'malformed' | 'unavailable' };

type Accepted = Extract<CallbackVerdict, { readonly ok: true }>;

const MAX_TEXT = 255;

/** Token, signature, row, commit, then the wake. Nothing is read or written before both proofs hold. */
export async function receiveCallback(
  ctx: ServiceContext,
  input: ReceiveCallbackInput,
): Promise<ReceiveCallbackOutcome> {
  const provider = ctx.providers.has(input.provider) ? input.provider : OTHER_PROVIDER;
  try {
    const received = await receive(ctx, input);
    if (received.outcome === 'taken') countTakenCallback(provider, received.record, ctx.nowMs());
    else if (received.outcome === 'ignored') countTakenCallback(provider, 'ignored', ctx.nowMs());
    else if (received.outcome === 'challenge') countCallbackChallenge(provider);
    else countCallbackFailure(provider, failureOf(received));
    return received;
  } catch (error) {
    countCallbackFailure(provider, isTemporaryFailure(error) ? 'database_unavailable' : 'defect');
    throw error;
  }
}

function failureOf(
  refused: Exclude<ReceiveCallbackOutcome, { outcome: 'taken' | 'ignored' | 'challenge' }>,
): CallbackFailure {
  if (refused.outcome === 'unverified') return refused.proof === 'token' ? 'forged_token' : 'wrong_signature';
  return refused.outcome === 'unavailable' ? 'keys_unavailable' : refused.outcome;
}

async function receive(ctx: ServiceContext, input: ReceiveCallbackInput): Promise<ReceiveCallbackOutcome> {
  const configured = ctx.providers.get(input.provider);
  if (configured === undefined || configured.provider.capabilities.callbacks === 'none') {
    return { outcome: 'unknown_provider' };
  }
  const signs = configured.provider.capabilities.callbacks === 'signed';
  const bySubmission = configured.provider.ownCallbackSecrets === true;
  // Whose secret it is then, only the token tells.
  if (input.token === null && (!signs || bySubmission)) return { outcome: 'unknown_provider' };
  if (signs && !bySubmission && configured.webhookSecrets?.length === 0) return { outcome: 'not_configured' };
  const submissionId = input.token === null ? null : verifyCallbackToken(ctx.keyring, input.token);
  if (input.token !== null && submissionId === null) return { outcome: 'unverified', proof: 'token' };
  const answer =
    submissionId === null ? null : (configured.provider.challengeAnswer?.(input.rawBody) ?? null);
  if (answer !== null) return { outcome: 'challenge', answer };
  const own = bySubmission && submissionId !== null ? callbackSecrets(ctx.keyring, submissionId) : [];
  const verdict = await configured.provider.verifyCallback(
    input.headers,
    input.rawBody,
    bySubmission ? own : (configured.webhookSecrets ?? []),
    ctx.nowMs(),
  );
  if (!verdict.ok) {
    return verdict.reason === 'unverified'
      ? { outcome: 'unverified', proof: 'signature' }
      : { outcome: verdict.reason };
  }
  if (!isStorable(verdict)) return { outcome: 'malformed' };
  if (submissionId === null && verdict.jobId === null) return { outcome: 'ignored' };
  const body = withoutTokens(input.rawBody, own);
  return record(ctx, configured, submissionId, verdict, { sent: input.rawBody, kept: body });
}

async function record(
  ctx: ServiceContext,
  { provider, credentialName }: CallbackProvider,
  submissionId: string | null,
  verdict: Accepted,
  body: { readonly sent: Uint8Array; readonly kept: Uint8Array },
): Promise<ReceiveCallbackOutcome> {
  const eventKey =
    verdict.eventId === null
      ? `sha256:${createHash('sha256').update(body.sent).digest('hex')}`
      : `event:${verdict.eventId}`;
  const recorded = await recordCallback(
    ctx.db,
    {
      provider: provider.name,
      credential: credentialName,
      submissionId,
      jobId: verdict.jobId,
      eventKey,
      type: verdict.type,
      terminal: verdict.terminal,
      progress: verdict.progress,
    },
    body.kept,
  );
  if (recorded.wake && recorded.run !== null) ctx.starter.enqueue(recorded.run, 'callback');
  return { outcome: 'taken', record: recorded.outcome, generationId: recorded.run?.generationId ?? null };
}

/** What PostgreSQL can keep: no NUL, no lone surrogate, no endless text; a progress from 0 to 1. */
function isStorable(verdict: Accepted): boolean {
  const texts = [verdict.jobId, verdict.eventId, verdict.type].filter((text) => text !== null);
  const { progress } = verdict;
  return (
    texts.every((text) => text !== '' && text.length <= MAX_TEXT && !/[\0\ud800-\udfff]/u.test(text)) &&
    (progress === null || (progress >= 0 && progress <= 1))
  );
}
