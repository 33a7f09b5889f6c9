import type { Db } from '../db/index.ts';
import type { Prisma } from '../db/generated/client.ts';

export interface ShownGeneration {
  readonly id: string;
  /** In the order in which an operator reads them. */
  readonly facts: readonly Fact[];
}

interface Fact {
  readonly name: string;
  readonly value: string;
}

const PARTS = {
  hold: true,
  account: { select: { name: true } },
  submissions: { orderBy: { ordinal: 'asc' }, include: { lateSuccess: true, orphans: true } },
  outputs: { orderBy: { index: 'asc' } },
  actions: { orderBy: { id: 'asc' } },
  events: { orderBy: { seq: 'asc' } },
} satisfies Prisma.GenerationInclude;
type Row = Prisma.GenerationGetPayload<{ include: typeof PARTS }>;

/** Rendered seconds this far from the priced ones are worth a look; prisma/ has the index of the same condition. */
const SECONDS_TOLERANCE = 0.5;

/** All that the rows tell of one generation, for operators: also provider, job ids and problems, never its content. */
export async function showGeneration(ctx: { readonly db: Db }, id: string): Promise<ShownGeneration | null> {
  const row = await ctx.db.prisma.generation.findUnique({ where: { id }, include: PARTS });
  if (row === null) return null;
  const facts = [
    ...ofRow(row),
    ...row.submissions.flatMap(ofSubmission),
    ...row.outputs.map(ofOutput),
    ...row.actions.map((action, i) =>
      fact(
        `operator ${i + 1}`,
        `${action.createdAt.toISOString()} ${action.kind} by ${action.actor}: ${action.reason} ${JSON.stringify(action.detail)}`,
      ),
    ),
    ...row.events.map((event) =>
      fact(
        `event ${event.seq}`,
        `${event.createdAt.toISOString()} ${event.type} ${JSON.stringify(event.data)}`,
      ),
    ),
  ];
  return { id, facts: facts.filter(({ value }) => value !== '') };
}

function ofRow(row: Row): Fact[] {
  const { hold } = row;
  return [
    fact('generation', row.id),
    fact('tenant', `${row.tenantId}, account ${row.account.name}`),
    fact('model', row.model),
    fact('state', `${row.state}, stage ${row.stage}${row.errorCode === null ? '' : `, ${row.errorCode}`}`),
    fact('needs operator', row.operatorReason),
    fact(
      'cancellation',
      row.cancelOutcome === null ? null : `${row.cancelOutcome}, by ${row.cancelRequestedBy}`,
    ),
    fact(
      'hold',
      hold === null
        ? null
        : `${hold.amount} credits ${hold.state}, captured ${hold.captured}, refunded ${hold.refunded}`,
    ),
    fact('delivery', row.delivery),
    fact('created', row.createdAt),
    fact('deadline', row.deadlineAt),
    fact('due', row.dueAt),
    fact('completed', row.completedAt),
  ];
}

function ofSubmission(submission: Row['submissions'][number]): Fact[] {
  const { lateSuccess, observedAt, observeCount } = submission;
  return [
    fact(
      `submission ${submission.ordinal}`,
      `${submission.provider}, ${submission.state}, key ${submission.idempotencyKey}`,
    ),
    fact('  first sent', submission.firstSentAt),
    fact('  job', submission.providerJobId),
    fact('  provider status', submission.providerStatus),
    fact('  problem', submission.problem ?? submission.refusalCode),
    fact(
      '  observed',
      observedAt === null
        ? null
        : `${observedAt.toISOString()}, ${observeCount} time${observeCount === 1 ? '' : 's'}`,
    ),
    fact('  cost', costOf(submission)),
    fact(
      '  late success',
      lateSuccess === null
        ? null
        : `${lateSuccess.observedAt.toISOString()}: the job succeeded after the generation had gone on without it; not charged`,
    ),
    ...submission.orphans.map((orphan) =>
      fact(
        '  orphan job',
        `${orphan.providerJobId}, reported ${orphan.createdAt.toISOString()}; its cost is yours`,
      ),
    ),
  ];
}

function costOf({
  costAmount,
  costUnit,
  costFinal,
  costSource,
  costAt,
}: Row['submissions'][number]): string | null {
  if (costAmount === null) return null;
  return `${costAmount.toFixed()} ${costUnit}, ${costFinal === true ? 'final' : 'estimate'}, by ${costSource} at ${costAt?.toISOString()}`;
}

function ofOutput(output: Row['outputs'][number]): Fact {
  return fact(
    `output ${output.index}`,
    [
      output.state,
      ...(output.path === null ? [] : [output.path, `${output.bytes} bytes`]),
      ...secondsOf(output),
      ...(output.problem === null ? [] : [output.problem]),
    ].join(', '),
  );
}

function secondsOf({ durationSeconds: rendered, pricedSeconds: priced }: Row['outputs'][number]): string[] {
  if (rendered === null) return [];
  if (priced === null) return [`rendered ${rendered} s`];
  const remark = Math.abs(rendered - priced) > SECONDS_TOLERANCE ? ' (they differ: look into it)' : '';
  return [`rendered ${rendered} s, priced ${priced} s${remark}`];
}

function fact(name: string, value: string | number | Date | null | undefined): Fact {
  if (value === null || value === undefined) return { name, value: '' };
  return { name, value: value instanceof Date ? value.toISOString() : String(value) };
}
