import type { Db } from '../db/index.ts';

export interface ShownGeneration {
  readonly id: string;
  /** In the order in which an operator reads them. */
  readonly facts: readonly { readonly name: string; readonly value: string }[];
}

/** All that the rows tell of one generation, for operators: also provider, job ids and problems, never its content. */
export async function showGeneration(ctx: { readonly db: Db }, id: string): Promise<ShownGeneration | null> {
  const row = await ctx.db.prisma.generation.findUnique({
    where: { id },
    include: {
      hold: true,
      account: true,
      submissions: { orderBy: { ordinal: 'asc' } },
      outputs: { orderBy: { index: 'asc' } },
      events: { orderBy: { seq: 'asc' } },
    },
  });
  if (row === null) return null;
  const fact = (name: string, value: string | number | Date | null | undefined) => ({
    name,
    value: text(value),
  });
  return {
    id,
    facts: [
      fact('generation', row.id),
      fact('tenant', `${row.tenantId}, account ${row.account.name}`),
      fact('model', row.model),
      fact('state', `${row.state}, stage ${row.stage}${row.errorCode === null ? '' : `, ${row.errorCode}`}`),
      fact('needs operator', row.operatorReason),
      fact(
        'cancellation',
        row.cancelOutcome === null ? null : `${row.cancelOutcome}, by ${row.cancelRequestedBy}`,
      ),
      fact('hold', `${row.hold?.amount} credits ${row.hold?.state}, captured ${row.hold?.captured}`),
      fact('created', row.createdAt),
      fact('deadline', row.deadlineAt),
      fact('due', row.dueAt),
      fact('completed', row.completedAt),
      ...row.submissions.flatMap((submission) => [
        fact(
          `submission ${submission.ordinal}`,
          `${submission.provider}, ${submission.state}, key ${submission.idempotencyKey}`,
        ),
        fact('  job', submission.providerJobId),
        fact('  provider status', submission.providerStatus),
        fact('  problem', submission.problem ?? submission.refusalCode),
        fact(
          '  observed',
          submission.observedAt === null
            ? null
            : `${submission.observedAt.toISOString()}, ${submission.observeCount} times`,
        ),
        fact(
          '  cost',
          submission.costAmount === null ? null : `${submission.costAmount} ${submission.costUnit}`,
        ),
      ]),
      ...row.outputs.map((output) =>
        fact(
          `output ${output.index}`,
          `${output.state}${output.path === null ? '' : `, ${output.path}, ${output.bytes} bytes`}${output.problem === null ? '' : `, ${output.problem}`}`,
        ),
      ),
      ...row.events.map((event) =>
        fact(
          `event ${event.seq}`,
          `${event.createdAt.toISOString()} ${event.type} ${JSON.stringify(event.data)}`,
        ),
      ),
    ].filter(({ value }) => value !== ''),
  };
}

function text(value: string | number | Date | null | undefined): string {
  if (value === null || value === undefined) return '';
  return value instanceof Date ? value.toISOString() : String(value);
}
