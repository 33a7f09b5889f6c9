import type { Stage } from './generation.ts';
import type { IdempotencyCapability } from './provider.ts';

/** What is known of a generation; a run knows less of it than the rows do, and leaves the rest out. */
export interface AdviceFacts {
  readonly generationId: string;
  readonly stage: Stage;
  /** Why it waits for a person, or null. */
  readonly operatorReason: string | null;
  readonly provider: string;
  /** The fixed code of the last trouble, or null. */
  readonly problem: string | null;
  /** The submission that may have a job. */
  readonly submissionId?: string | null;
  /** What the provider offers against a lost answer. */
  readonly idempotency?: IdempotencyCapability | null;
  /** The provider has a list in which our job is recognised. */
  readonly listed?: boolean;
  readonly pause?: { readonly kind: 'provider' | 'model' | 'tenant'; readonly target: string } | null;
  /** The provider takes no submits just now, by itself. */
  readonly closed?: 'circuit_open' | 'daily_budget' | null;
  /** For how long its run should have written to its row; null or 0 = it is in time. */
  readonly overdueMs?: number | null;
  /** For how long nothing has moved; null or absent = not known. */
  readonly unmovedMs?: number | null;
}

/** What to do next, in words and as the exact command; a null command = nothing to type. */
export interface Advice {
  readonly what: string;
  readonly command: string | null;
}

/** A row is late by moments now and then; after this nobody is at work on it. In milliseconds. */
export const OVERDUE_AFTER_MS = 60_000;

const REASON = '--reason "…"';

/** What whoever is on call does next about one generation; says so too when that is nothing. */
export function adviceFor(facts: AdviceFacts): Advice {
  const { stage } = facts;
  if (stage === 'done') return { what: 'It has ended; nothing is left to do.', command: null };
  if (stage === 'needs_operator') return ofParked(facts);
  const overdueMs = facts.overdueMs ?? 0;
  if (overdueMs > OVERDUE_AFTER_MS) return ofOverdue(facts, overdueMs);
  if (stage === 'submission_unknown') return ofUnknown(facts);
  if (stage === 'storing') return ofStoring(facts);
  if (stage === 'queued' || stage === 'submitting') return ofUnsent(facts);
  if (stage === 'waiting' && isDenied(facts.problem)) {
    return {
      what: `${facts.provider} refuses our key (${facts.problem}): correct ${keyOf(facts.provider)} or the account there and restart the workers.`,
      command: observe(facts),
    };
  }
  return { what: 'Nothing is to be done: its run goes on by itself.', command: null };
}

function ofParked(facts: AdviceFacts): Advice {
  const { provider, generationId, submissionId } = facts;
  switch (facts.operatorReason) {
    case 'provider_access_denied':
      return {
        what: `Past the deadline ${provider} still answers 401, 402 or 403: correct ${keyOf(provider)} or the account there, restart the workers, then look again.`,
        command: observe(facts),
      };
    case 'unknown_provider':
      return {
        what: `No worker knows ${provider}: set ${keyOf(provider)}, restart the workers, then wake it.`,
        command: wake(facts),
      };
    case 'unknown_credential':
      return {
        what: `The API key that submitted this job is gone: bring it back (${keyOf(provider)}, or ${keyOf(provider)}_NAME for the credential NAME), restart the workers, then wake it.`,
        command: wake(facts),
      };
    case 'job_taken':
      return {
        what: `${provider} answered with a job that belongs to another submission: find in its console which job is ours, then attach that one; if there is none, say so with "submission not-accepted".`,
        command: attach(submissionId),
      };
    case 'unreadable_plan':
      return {
        what: 'The plan in its row cannot be read, a defect or a change by hand: keep what this shows, then end it.',
        command: `npx darkroom generation resolve ${generationId} --state failed ${REASON} --dry-run`,
      };
    default:
      return {
        what: `A step failed in a way that trying again cannot mend: look for "step broken" and ${generationId} in the worker's log, deploy the correction, then wake it.`,
        command: wake(facts),
      };
  }
}

function ofOverdue(facts: AdviceFacts, overdueMs: number): Advice {
  const minutes = Math.floor(overdueMs / 60_000);
  return {
    what: `Its run should have written ${minutes} minute${minutes === 1 ? '' : 's'} ago: check that a worker runs and Temporal answers ("darkroom doctor"), then wake it; for all that are overdue use "darkroom sweep".`,
    command: wake(facts),
  };
}

function ofUnknown(facts: AdviceFacts): Advice {
  const { provider } = facts;
  if (facts.idempotency === 'replay') {
    return {
      what: `It is not known whether ${provider} has the job. The same request is sent again under the same key, which gives no second job: wait; look whether ${provider} answers.`,
      command: 'npx darkroom providers',
    };
  }
  if (facts.idempotency === 'lookup') {
    return {
      what: `It is not known whether ${provider} has the job. It is looked up there by our id, and sent again only if ${provider} knows none: wait; look whether ${provider} answers.`,
      command: 'npx darkroom providers',
    };
  }
  const byItself =
    facts.listed === true
      ? `${provider}'s list is searched for it.`
      : `Only a callback can name it, where ${provider} sends any.`;
  const named =
    facts.problem === 'named_job_not_found' ? `${provider} knows no job of the id that was named. ` : '';
  return {
    what: `${named}It is not known whether ${provider} has the job, and it is never sent twice. ${byItself} Look into its console: attach the job if it is there; if not, say so with ${notAccepted(facts.submissionId)}; the deadline ends it otherwise.`,
    command: attach(facts.submissionId),
  };
}

function ofStoring(facts: AdviceFacts): Advice {
  const { problem, provider } = facts;
  if (problem === null) {
    return { what: 'Nothing is to be done: its outputs are being stored.', command: null };
  }
  return { what: `${storingTrouble(problem, provider)} Then try at once.`, command: retryStoring(facts) };
}

function storingTrouble(problem: string, provider: string): string {
  if (problem === 'storage_full') return 'The storage is full (storage_full): make space below STORAGE_URL.';
  if (problem.startsWith('storage_')) {
    return `The storage cannot be written (${problem}): check STORAGE_URL, its rights and its server.`;
  }
  if (problem.startsWith('scan_')) {
    return `The scanner gives no verdict (${problem}): check SCAN_COMMAND or SCAN_URL.`;
  }
  return `The output cannot be downloaded from ${provider} (${problem}): it is tried again with a fresh link until its time is over. Check that the workers reach ${provider}.`;
}

function ofUnsent(facts: AdviceFacts): Advice {
  const { provider, pause, problem } = facts;
  if (pause !== null && pause !== undefined) {
    return {
      what: `New submits of ${pause.kind} ${pause.target} are paused: resume them when the cause is gone.`,
      command: `npx darkroom resume ${pause.kind} ${pause.target} ${REASON}`,
    };
  }
  const closed = facts.closed ?? problem;
  if (closed === 'provider_paused')
    return ofUnsent({ ...facts, pause: { kind: 'provider', target: provider } });
  if (closed === 'model_paused' || closed === 'tenant_paused') {
    const kind = closed === 'model_paused' ? 'model' : 'tenant';
    return {
      what: `New submits of its ${kind} are paused: resume them when the cause is gone.`,
      command: 'npx darkroom pause list',
    };
  }
  if (closed === 'circuit_open') {
    return {
      what: `Submits to ${provider} failed in a row, so one at a time tries whether it works again: nothing is to be done but to see that ${provider} is up.`,
      command: 'npx darkroom providers',
    };
  }
  if (closed === 'daily_budget') {
    return {
      what: `The budget of the day for ${provider} is spent: raise it, or it waits until midnight UTC or its deadline.`,
      command: 'npx darkroom budget show',
    };
  }
  if (isDenied(problem)) {
    return {
      what: `${provider} refuses our key (${problem}): correct ${keyOf(provider)} or the account there, restart the workers, then wake it.`,
      command: wake(facts),
    };
  }
  const unmovedMs = problem === null ? (facts.unmovedMs ?? 0) : 0;
  if (unmovedMs > OVERDUE_AFTER_MS) {
    return {
      what: `Nothing keeps it from ${provider}, and yet nothing has moved for ${Math.floor(unmovedMs / 60_000)} min: check that a worker runs (its log, /readyz of the API), then wake it.`,
      command: wake(facts),
    };
  }
  return { what: 'Nothing is to be done: it is submitted as soon as it can be.', command: null };
}

/** An answer that the key, or the account behind it, has no access: `http_401`, or with the provider's code `http_401:…`. */
const isDenied = (problem: string | null): boolean =>
  problem !== null && /^http_40[123](?:$|:)/.test(problem);

const keyOf = (provider: string): string => `PROVIDER_${provider.toUpperCase()}_API_KEY`;
const wake = ({ generationId }: AdviceFacts): string => `npx darkroom generation wake ${generationId}`;
const observe = ({ generationId }: AdviceFacts): string =>
  `npx darkroom generation observe ${generationId} ${REASON}`;
const retryStoring = ({ generationId }: AdviceFacts): string =>
  `npx darkroom generation retry-storing ${generationId} ${REASON}`;
const attach = (submissionId: string | null | undefined): string =>
  `npx darkroom submission attach ${submissionId ?? 'SUB'} --job JOB ${REASON}`;
const notAccepted = (submissionId: string | null | undefined): string =>
  `"npx darkroom submission not-accepted ${submissionId ?? 'SUB'}" and a --reason`;
