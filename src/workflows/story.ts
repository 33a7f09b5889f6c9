import { defineSearchAttributeKey } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { adviceFor } from '../domain/operator-advice.ts';
import type { Advice } from '../domain/operator-advice.ts';
import type { RunView, SettleProposal } from '../domain/step.ts';
import { endWords, waitingWords, wordsFor } from './story-words.ts';

const generationState = defineSearchAttributeKey('GenerationState', 'KEYWORD');
const provider = defineSearchAttributeKey('Provider', 'KEYWORD');
const model = defineSearchAttributeKey('Model', 'KEYWORD');
const tenantId = defineSearchAttributeKey('TenantId', 'KEYWORD');

/**
 * What operators read in the Temporal UI: the run's current details, an incident note that ends with what to do. It
 * costs no event.
 */
export class Story {
  #view: RunView | null = null;
  #now = '';
  #sinceMs = 0;
  /** Absolute: a view is told again long after it was made. */
  #deadlineMs = 0;
  #cancelAsked = false;
  #proposal: SettleProposal | null = null;
  readonly #firstProvider: string;

  /** @param firstProvider the plan's: what is known before the first step has answered */
  constructor(firstProvider: string) {
    this.#firstProvider = firstProvider;
  }

  /** Before a submit, or another look at the rows, that is due in so long unless something wakes the run. */
  queued(view: RunView, reason: string, inMs: number): void {
    this.#tell(view, wordsFor(reason), { nextInMs: inMs, pause: pauseOf(view, reason) });
  }

  /** A provider has the job; the first look at it is due in so long. */
  waiting(view: RunView, inMs: number): void {
    this.#tell(view, waitingWords(view), { nextInMs: inMs });
  }

  /** The step that asks, and stores what has finished, runs until something new is known. */
  looking(view: RunView, { wokenBy, cancelAsked }: { wokenBy: string | null; cancelAsked: boolean }): void {
    this.#cancelAsked ||= cancelAsked;
    const why = wokenBy === null ? 'by itself' : `woken by ${wokenBy}`;
    const at = `The activity \`collect\` is at it (${why}): it asks, and stores what has finished`;
    this.#tell(view, `${waitingWords(this.#nowOf(view))}. ${at}`);
  }

  settling(view: RunView, proposal: SettleProposal): void {
    this.#proposal = proposal;
    const code = proposal.errorCode === null ? '' : ` (\`${proposal.errorCode}\`)`;
    this.#tell(view, `settling as ${proposal.state}${code}`);
  }

  /** Also the search attribute, so that parked runs can be listed. */
  parked(reason: string): void {
    const { workflowId: generationId } = workflowInfo();
    const advice = adviceFor({
      generationId,
      stage: 'needs_operator',
      operatorReason: reason,
      provider: this.#view?.provider ?? this.#firstProvider,
      problem: this.#view?.problem ?? null,
      submissionId: this.#view?.submissionId ?? null,
    });
    setCurrentDetails(
      [
        `**Needs an operator** (\`${reason}\`): ${wordsFor(reason)}.`,
        'It is not settled by itself, whatever its deadline; the hold is intact.',
        list([`Since: ${clock(0)}; its rows are looked at every hour`, ...this.#facts(this.#view)]),
        '"Request Cancellation" asks for a cancellation; "Terminate" is safe: the sweep starts it again.',
        toDo(advice),
      ].join('\n\n'),
    );
    attribute('needs_operator');
  }

  resumed(): void {
    attribute('running');
  }

  ended(state: string): void {
    const facts = this.#view === null ? [] : [list(jobFacts(this.#view))];
    const ending = endWords(state, this.#proposal);
    setCurrentDetails([ending, ...facts, '**To do:** nothing is left to do.'].join('\n\n'));
    if (state !== 'gone') attribute(state);
  }

  #tell(
    view: RunView,
    now: string,
    { nextInMs = 0, pause = null }: { readonly nextInMs?: number; readonly pause?: Pause } = {},
  ): void {
    this.#moved(view.provider);
    if (view !== this.#view) this.#deadlineMs = Date.now() + view.deadlineInMs;
    this.#view = view;
    this.#cancelAsked ||= view.cancelRequested === true;
    if (now !== this.#now) [this.#now, this.#sinceMs] = [now, Date.now()];
    const { workflowId: generationId } = workflowInfo();
    const { stage, problem, submissionId = null, idempotency = null, listed = false } = view;
    const known = { generationId, stage, problem, provider: view.provider, pause };
    const unknown = { submissionId, idempotency, listed };
    setCurrentDetails(
      [
        `**${view.state}**, stage ${stage}: ${now}.`,
        list([
          `Since: ${iso(this.#sinceMs)}`,
          ...(nextInMs > 0 ? [`Next look: ${clock(nextInMs)}, or as soon as something wakes it`] : []),
          ...this.#facts(view),
          ...(problem === null ? [] : [`Last problem: \`${problem}\``]),
        ]),
        toDo(adviceFor({ ...known, ...unknown, operatorReason: null })),
        `All of it: \`npx darkroom generation show ${generationId}\``,
      ].join('\n\n'),
    );
  }

  /** The view as it is by now. */
  #nowOf(view: RunView): RunView {
    const deadlineInMs = view === this.#view ? this.#deadlineMs - Date.now() : view.deadlineInMs;
    return { ...view, deadlineInMs, cancelRequested: this.#cancelAsked || view.cancelRequested === true };
  }

  #facts(view: RunView | null): string[] {
    if (view === null) return [];
    const passed = this.#deadlineMs <= Date.now() ? ', passed' : '';
    return [
      `Deadline: ${iso(this.#deadlineMs)}${passed}`,
      `Hold: ${view.credits} credits`,
      ...(this.#cancelAsked ? ['Cancellation: asked for'] : []),
      ...jobFacts(view),
    ];
  }

  /** After a failover, runs are found by the provider that has the job now. */
  #moved(name: string): void {
    const before = this.#view?.provider;
    if (before !== undefined && before !== name && isRegistered()) {
      upsertSearchAttributes([{ key: provider, value: name }]);
    }
  }
}

type Pause = { readonly kind: 'provider' | 'model' | 'tenant'; readonly target: string } | null;

/** Which pause a reason code speaks of; model and tenant stand in the run's search attributes. */
function pauseOf(view: RunView, reason: string): Pause {
  const attributes = workflowInfo().typedSearchAttributes;
  if (reason === 'provider_paused') return { kind: 'provider', target: view.provider };
  if (reason === 'model_paused') return { kind: 'model', target: attributes.get(model) ?? 'MODEL' };
  if (reason === 'tenant_paused') return { kind: 'tenant', target: attributes.get(tenantId) ?? 'TENANT' };
  return null;
}

function jobFacts(view: RunView): string[] {
  const job = view.jobId === null ? 'no job known' : `job \`${view.jobId}\``;
  const { submissionId = null } = view;
  const submission = submissionId === null ? '' : `, submission \`${submissionId}\``;
  return [`Provider: \`${view.provider}\`, ${job}${submission}`];
}

function toDo({ what, command }: Advice): string {
  return command === null ? `**To do:** ${what}` : `**To do:** ${what}\n\n    ${command}`;
}

const list = (lines: readonly string[]): string => lines.map((line) => `- ${line}`).join('\n');
const clock = (inMs: number): string => iso(Date.now() + inMs);
const iso = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

/**
 * A run that was started without attributes, since the namespace lacks them, must not upsert one: its task would fail
 * for ever.
 */
function attribute(value: string): void {
  if (isRegistered()) upsertSearchAttributes([{ key: generationState, value }]);
}

function isRegistered(): boolean {
  return workflowInfo().typedSearchAttributes.get(generationState) !== undefined;
}
