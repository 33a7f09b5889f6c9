import { promptText, type Books, type Row } from './open-books.ts';

interface Line {
  readonly atMs: number;
  readonly who: string;
  readonly text: string;
}

/** All that the three books, Temporal and the faults tell of one generation, in the order in which it happened. */
export async function tellStory(books: Books, generationId: string): Promise<string> {
  const row = books.rowOf.get(generationId);
  const asked = books.world.asked.find(
    ({ id, idempotencyKey }) => id === generationId || idempotencyKey === row?.idempotencyKey,
  );
  const lines = [
    ...(row === undefined ? [] : [...ourRows(row), ...theirJobs(books, row)]),
    ...(await inbox(books, generationId)),
    ...(await runs(books, generationId)),
    ...told(books, generationId),
  ];
  const times = lines.map(({ atMs }) => atMs);
  const faults = books.world.struck
    .filter(({ fromMs, toMs }) => fromMs <= Math.max(...times) && toMs >= Math.min(...times) - 5_000)
    .map(({ name, detail, fromMs, toMs }) => ({
      atMs: fromMs,
      who: 'fault',
      text: `${name} for ${toMs - fromMs} ms: ${detail}`,
    }));
  const head = [
    `${generationId}: ${row === undefined ? 'no row' : `${row.state}, ${row.stage} ${row.errorCode ?? ''}`}`,
    asked === undefined
      ? '  nobody asked for it'
      : `  asked: ${asked.model} on ${asked.account}, key ${asked.idempotencyKey}, last answered ${asked.status}, ` +
        `${asked.answers.length} times 202${asked.cancelled ? ', cancelled' : ''}${asked.toldByUrl ? ', callback_url' : ''}`,
    ...Object.entries(books.world.providerFaults).flatMap(([provider, faultsOf]) => {
      const fitting = faultsOf.filter(({ match }) => promptOf(row).includes(match?.prompt ?? ''));
      return fitting.length === 0 ? [] : [`  faults of ${provider}: ${JSON.stringify(fitting)}`];
    }),
  ];
  const body = [...lines, ...faults]
    .toSorted((a, b) => a.atMs - b.atMs)
    .map(({ atMs, who, text }) => `  ${new Date(atMs).toISOString().slice(11, 23)} ${who.padEnd(9)} ${text}`);
  return [...head, ...body].join('\n');
}

function promptOf(row: Row | undefined): string {
  return row === undefined ? '' : promptText(row);
}

function ourRows(row: Row): Line[] {
  const line = (who: string, at: Date | null, text: string): Line[] =>
    at === null ? [] : [{ atMs: at.getTime(), who, text }];
  return [
    ...row.events.flatMap(({ seq, type, data, createdAt }) =>
      line('event', createdAt, `${seq} ${type} ${JSON.stringify(data)}`),
    ),
    ...line('row', row.cancelRequestedAt, `cancel by ${row.cancelRequestedBy}: ${row.cancelOutcome}`),
    ...line('row', row.successAt, `success observed, stored until ${row.storeUntil?.toISOString()}`),
    ...line('row', row.deadlineAt, 'deadline'),
    ...line('row', row.wakeRequestedAt, 'a wake is outstanding'),
    ...row.submissions.flatMap((one) => [
      ...line('submit', one.createdAt, `${one.id} claimed at ${one.provider}, key ${one.idempotencyKey}`),
      ...line('submit', one.firstSentAt, `${one.id} sent first; now ${one.state}, fence ${one.fence}`),
      ...line('submit', one.unknownAt, `${one.id} unknown: ${one.problem ?? ''}`),
      ...line('submit', one.acceptedAt, `${one.id} accepted as ${one.providerJobId}`),
      ...line('submit', one.cancelSentAt, `${one.id} cancel sent`),
      ...line('submit', one.observedAt, `${one.id} observed last, ${one.observeCount} times in all`),
      ...line('submit', one.endedAt, `${one.id} ended as ${one.endedAs}, found by ${one.finishedBy}`),
      ...one.orphans.flatMap((orphan) => line('submit', orphan.createdAt, `orphan ${orphan.providerJobId}`)),
      ...line('submit', one.lateSuccess?.observedAt ?? null, `${one.id} late success`),
    ]),
    ...row.transactions.flatMap(({ kind, createdAt, entries }) =>
      line('ledger', createdAt, `${kind} ${entries.map(({ amount }) => String(amount)).join(', ')}`),
    ),
    ...line('ledger', row.hold?.resolvedAt ?? null, `hold of ${row.hold?.amount} ${row.hold?.state}`),
    ...row.outputs.flatMap((one) => [
      ...line(
        'output',
        one.createdAt,
        `${one.index}: ${one.state}, attempt ${one.attempt} ${one.problem ?? ''}`,
      ),
      ...line('output', one.storedAt, `${one.index} stored as ${one.path}`),
    ]),
    ...row.webhooks.flatMap(({ id, type, createdAt, deliveries }) => [
      ...line('webhook', createdAt, `${id} ${type}`),
      ...deliveries.flatMap((one) => [
        ...one.tries.flatMap((attempt) =>
          line('webhook', attempt.at, `attempt ${attempt.attempt}: ${attempt.status ?? attempt.problem}`),
        ),
        ...line('webhook', one.deliveredAt, `${one.endpointId ?? 'callback_url'} ${one.state}`),
      ]),
    ]),
  ];
}

function theirJobs({ jobsOf, journals }: Books, row: Row): Line[] {
  const prompt = promptText(row);
  return [
    ...jobsOf(row).flatMap((job) => [
      {
        atMs: Date.parse(job.created_at),
        who: job.provider,
        text: `accepted ${job.id}, now ${job.status}; ${job.submits} submits, ${job.observes} looks, ${job.cancels} cancels, ${job.downloads} downloads`,
      },
      ...job.callbacks.map(({ at, type, answer, forged }) => ({
        atMs: Date.parse(at),
        who: job.provider,
        text: `${forged ? 'forged ' : ''}callback ${type}: ${answer}`,
      })),
    ]),
    ...Object.entries(journals).flatMap(([provider, { requests }]) =>
      requests
        .filter((request) => request.prompt === prompt)
        .map(({ at, method, path, idempotency_key: key }) => ({
          atMs: Date.parse(at),
          who: provider,
          text: `${method} ${path.slice(0, 120)} ${key ?? ''}`,
        })),
    ),
  ];
}

async function inbox({ db }: Books, generationId: string): Promise<Line[]> {
  const rows = await db.prisma.callback.findMany({ where: { submission: { generationId } } });
  const actions = await db.prisma.operatorAction.findMany({ where: { generationId } });
  return [
    ...rows.map(({ receivedAt, type, seenAt, terminal }) => ({
      atMs: receivedAt.getTime(),
      who: 'inbox',
      text: `${type}${terminal ? ' (an end)' : ''}, seen ${seenAt?.toISOString().slice(11, 23) ?? 'never'}`,
    })),
    ...actions.map(({ createdAt, kind, actor, reason }) => ({
      atMs: createdAt.getTime(),
      who: 'operator',
      text: `${kind} by ${actor}: ${reason}`,
    })),
  ];
}

async function runs({ temporal }: Books, generationId: string): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const run of temporal.workflow.list({ query: `WorkflowId = '${generationId}'` })) {
    lines.push({ atMs: run.startTime.getTime(), who: 'run', text: `${run.runId} begins` });
    if (run.closeTime === undefined) continue;
    lines.push({ atMs: run.closeTime.getTime(), who: 'run', text: `${run.runId} ${run.status.name}` });
  }
  return lines;
}

function told({ world }: Books, generationId: string): Line[] {
  return world.received
    .filter((one) => one.generationId === generationId)
    .map(({ atMs, receiver, type, id, attempt, verified, answer }) => ({
      atMs,
      who: 'tenant',
      text: `${receiver} got ${type} ${id}, attempt ${attempt}${verified ? '' : ', NOT SIGNED'}, answered ${answer}`,
    }));
}
