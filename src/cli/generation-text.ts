import type { ShownGeneration } from '../domain/operated-generation.ts';
import { table } from './context.ts';

/** Rendered seconds this far from the priced ones are worth a look; prisma/ has the index of the same condition. */
const SECONDS_TOLERANCE = 0.5;
/** Of what may be many, a screen shows the last. */
const SHOWN = 12;

type Fact = readonly [name: string, value: string];

/** A generation as operators read it: what is not there is left out, and the last line says what to do next. */
export function generationText(shown: ShownGeneration, nowMs: number): string {
  const facts = [
    ...ofRow(shown, nowMs),
    ...shown.submissions.flatMap(ofSubmission),
    ...newest(shown.callbacks, 'callback', (callback) =>
      joined(
        callback.received_at,
        `${callback.type}${callback.terminal ? ' (an end)' : ''} ${callback.id}`,
        callback.seen_at === null ? 'not taken by the run yet' : null,
      ),
    ),
    ...shown.outputs.map(ofOutput),
    ...newest(shown.webhooks, 'webhook', (webhook) =>
      joined(
        webhook.id,
        webhook.type,
        `${webhook.state} after ${webhook.attempts} attempt${webhook.attempts === 1 ? '' : 's'}`,
        webhook.receiver,
        webhook.last_problem,
        webhook.state === 'pending' && webhook.next_attempt_at !== null
          ? `next at ${webhook.next_attempt_at}`
          : null,
      ),
    ),
    ...newest(
      shown.operator_actions,
      'operator',
      ({ at, kind, actor, reason, detail }) =>
        `${at} ${kind} by ${actor}: ${reason} ${JSON.stringify(detail)}`,
    ),
    ...newest(
      shown.events,
      'event',
      ({ at, type, data }) => `${at} ${type} ${JSON.stringify(data)}`,
      ({ seq }) => seq,
    ),
  ];
  return `${table(facts.filter(([, value]) => value !== ''))}\n\n${nextLine(shown.next)}`;
}

/** One line: what to do, and the command to copy. */
export function nextLine({ what, command }: ShownGeneration['next']): string {
  return `Next: ${what}${command === null ? '' : ` Run: ${command}`}`;
}

function ofRow(shown: ShownGeneration, nowMs: number): Fact[] {
  const { credits, cancellation, paused } = shown;
  const ended = shown.completed_at !== null;
  return [
    ['generation', shown.id],
    ['run', shown.temporal_url ?? ''],
    ['tenant', `${shown.tenant}, account ${shown.account}`],
    ['model', shown.model],
    [
      'state',
      joined(
        shown.state,
        `stage ${shown.stage}`,
        shown.error_code,
        shown.progress === null || ended ? null : `progress ${Math.round(shown.progress * 100)} %`,
      ),
    ],
    ['needs operator', shown.operator_reason ?? ''],
    ['cancellation', cancellation === null ? '' : `${cancellation.outcome}, by ${cancellation.requested_by}`],
    ['paused', paused === null || ended ? '' : `${paused.kind} ${paused.target}`],
    ['provider closed', ended ? '' : (shown.provider_closed ?? '')],
    [
      'hold',
      `${credits.amount} credits ${credits.state}, captured ${credits.captured}, refunded ${credits.refunded}`,
    ],
    ['delivery', shown.delivery],
    ['created', shown.created_at],
    ['deadline', ended ? shown.deadline_at : withDistance(shown.deadline_at, nowMs)],
    ['success', shown.success_at ?? ''],
    ['store until', shown.store_until === null || ended ? '' : withDistance(shown.store_until, nowMs)],
    ['due', shown.due_at === null ? '' : withDistance(shown.due_at, nowMs)],
    ['wake asked for', shown.wake_requested_at ?? ''],
    ['completed', shown.completed_at ?? ''],
  ];
}

function ofSubmission(submission: ShownGeneration['submissions'][number]): Fact[] {
  const { cost, observed_at: observedAt, observations } = submission;
  return [
    [
      `submission ${submission.ordinal}`,
      `${submission.provider}, ${submission.state}, ${submission.id}, key ${submission.idempotency_key}`,
    ],
    ['  credential', submission.credential],
    ['  first sent', submission.first_sent_at ?? ''],
    ['  unknown since', submission.state === 'unknown' ? (submission.unknown_at ?? '') : ''],
    ['  job', submission.job_id ?? ''],
    ['  provider status', submission.provider_status ?? ''],
    ['  problem', submission.problem ?? submission.refusal_code ?? ''],
    [
      '  observed',
      observedAt === null ? '' : `${observedAt}, ${observations} time${observations === 1 ? '' : 's'}`,
    ],
    ['  cancel sent', submission.cancel_sent_at ?? ''],
    ['  job ended', submission.ended_at === null ? '' : joined(submission.ended_at, submission.ended_as)],
    [
      '  cost',
      cost === null
        ? ''
        : `${cost.amount} ${cost.unit}, ${cost.final ? 'final' : 'estimate'}, by ${cost.source} at ${cost.at}`,
    ],
    ['  late look', submission.late_look_at ?? ''],
    [
      '  late success',
      submission.late_success_at === null
        ? ''
        : `${submission.late_success_at}: the job succeeded after the generation had gone on without it; not charged`,
    ],
    ...submission.orphan_jobs.map((orphan): Fact => [
      '  orphan job',
      `${orphan.job_id}, reported ${orphan.reported_at}; its cost is yours`,
    ]),
  ];
}

function ofOutput(output: ShownGeneration['outputs'][number]): Fact {
  const { duration_seconds: rendered, priced_seconds: priced } = output;
  const differ = rendered !== null && priced !== null && Math.abs(rendered - priced) > SECONDS_TOLERANCE;
  return [
    `output ${output.index}`,
    joined(
      output.state,
      output.path,
      output.path === null ? null : `${output.bytes} bytes`,
      rendered === null ? null : `rendered ${rendered} s`,
      rendered === null || priced === null
        ? null
        : `priced ${priced} s${differ ? ' (they differ: look into it)' : ''}`,
      output.state === 'storing' ? `attempt ${output.attempts}` : null,
      output.problem,
    ),
  ];
}

/** The last ones, oldest first, with their own numbers where they have some. */
function newest<T>(
  rows: readonly T[],
  name: string,
  line: (row: T) => string,
  numberOf?: (row: T) => number,
): Fact[] {
  const shown = rows.slice(0, SHOWN).reverse();
  const left = rows.length - shown.length;
  const facts = shown.map((row, i): Fact => [`${name} ${numberOf?.(row) ?? left + i + 1}`, line(row)]);
  return left === 0 ? facts : [[`${name}s`, `${left} earlier ones: see --json`], ...facts];
}

function joined(...parts: readonly (string | null)[]): string {
  return parts.filter((part) => part !== null).join(', ');
}

/** A time, and how far it is from now. */
function withDistance(time: string, nowMs: number): string {
  const ms = Date.parse(time) - nowMs;
  return `${time} (${ms >= 0 ? `in ${spanOf(ms)}` : `${spanOf(-ms)} ago`})`;
}

/** `42 s`, `7 min`, `3 h`, `2 d`: as exact as somebody on call needs it. */
export function spanOf(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`;
}
