import type { GenerationView } from '../../src/domain/generation-view.ts';
import { hashesOf } from './checks-states.ts';
import type { Books, Finding, Row } from './open-books.ts';
import type { Received } from './types.ts';

const RECEIVERS = ['endpoint', 'callback_url'] as const;
const END = /^generation\.(succeeded|failed|cancelled|expired)$/;

/** What the tenant's receivers got, against what stands. */
export async function checkWebhooks(books: Books): Promise<Finding[]> {
  const byGeneration = new Map<string, Received[]>();
  for (const one of books.world.received.filter(({ type }) => END.test(type))) {
    byGeneration.set(one.generationId, [...(byGeneration.get(one.generationId) ?? []), one]);
  }
  const endpoints = await books.db.prisma.webhookEndpoint.findMany();
  const gone = new Set(endpoints.filter(({ id }) => isGone(books, id)).map(({ id }) => id));
  const findings = books.rows.flatMap((row) => {
    const received = byGeneration.get(row.id) ?? [];
    const wants = endpoints.some(
      (one) =>
        one.createdAt < row.updatedAt &&
        one.deletedAt === null &&
        !gone.has(one.id) &&
        one.types.includes(`generation.${row.state}`),
    );
    return [
      ...untold(row, received, { endpoint: wants, callback_url: row.callbackUrl !== null }),
      ...otherIds(row, received),
      ...otherEnds(row, received),
      ...otherData(books, row, received),
    ];
  });
  return [
    ...findings,
    ...endpoints
      .filter(({ id, disabledAt }) => disabledAt !== null && !gone.has(id))
      .map(({ id, disabledAt, disabledReason }) => ({
        check: 'an endpoint is disabled by a 410 only',
        generation: null,
        problem: `${id} was disabled at ${disabledAt?.toISOString()} (${disabledReason}), its receiver never answered 410`,
      })),
    ...books.rows.flatMap((row) => heldBack(row, gone)),
    ...wrongUrls(books),
    ...unsigned(books),
    ...[...byGeneration.keys()]
      .filter((id) => !books.rowOf.has(id))
      .map((id) => ({ check: 'no webhook tells another end', generation: id, problem: 'it has no row' })),
  ];
}

/** By our book and by the receiver's: the same event was answered with 410. */
function isGone({ rows, world }: Books, endpointId: string): boolean {
  const answered = new Set(world.received.filter(({ answer }) => answer === 410).map(({ id }) => id));
  return rows.some(({ webhooks }) =>
    webhooks.some(
      ({ id, deliveries }) =>
        answered.has(id) &&
        deliveries.some(
          (one) => one.endpointId === endpointId && one.tries.some(({ status }) => status === 410),
        ),
    ),
  );
}

/** Nothing waits for a person but what an endpoint itself has turned away. */
function heldBack({ id: generation, webhooks }: Row, gone: ReadonlySet<string>): Finding[] {
  return webhooks.flatMap(({ id, deliveries }) =>
    deliveries
      .filter(({ state, endpointId }) => state === 'held' && !gone.has(endpointId ?? ''))
      .map(({ endpointId }) => ({
        check: 'no webhook is held back',
        generation,
        problem: `${id} to ${endpointId ?? 'callback_url'} is held`,
      })),
  );
}

type Receiver = Received['receiver'];

function untold(
  { id, state, completedAt }: Row,
  received: readonly Received[],
  wants: Readonly<Record<Receiver, boolean>>,
): Finding[] {
  if (completedAt === null) return [];
  return RECEIVERS.filter(
    (receiver) => wants[receiver] && !received.some((one) => one.receiver === receiver && isAnswered(one)),
  ).map((receiver) => ({
    check: 'every end is told',
    generation: id,
    problem: `${state}, and ${receiver} answered none with 2xx`,
  }));
}

function isAnswered({ answer }: Received): boolean {
  return typeof answer === 'number' && answer >= 200 && answer < 300;
}

/** The same event has one id at each attempt, at each receiver: the one of its row. */
function otherIds({ id, webhooks }: Row, received: readonly Received[]): Finding[] {
  return RECEIVERS.flatMap((receiver) => {
    const ids = new Set(received.filter((one) => one.receiver === receiver).map((one) => one.id));
    const strangers = [...ids].filter((one) => !webhooks.some((event) => event.id === one));
    if (ids.size <= 1 && strangers.length === 0) return [];
    const problem = `${receiver} was told under ${[...ids].join(', ')}`;
    return [{ check: 'one id for one event', generation: id, problem }];
  });
}

function otherEnds({ id, state, completedAt }: Row, received: readonly Received[]): Finding[] {
  const other = received.find(({ type }) => type !== `generation.${state}` || completedAt === null);
  if (other === undefined) return [];
  const problem = `${other.receiver} was told of ${other.type}, it is ${state}`;
  return [{ check: 'no webhook tells another end', generation: id, problem }];
}

function otherData({ views }: Books, { id, state }: Row, received: readonly Received[]): Finding[] {
  const view = views.get(id);
  if (typeof view !== 'object') return [];
  const expected = essence(view);
  const other = received
    .filter(({ type }) => type === `generation.${state}`)
    .map((one) => ({ receiver: one.receiver, told: essence(one.data as GenerationView) }))
    .find(({ told }) => told !== expected);
  if (other === undefined) return [];
  const problem = `${other.receiver} was told ${other.told}, the API shows ${expected}`;
  return [{ check: 'a webhook tells what stands', generation: id, problem }];
}

/** What never changes after the end, refunds and deleted files left out. */
function essence({
  id,
  account,
  state,
  stage,
  credits,
  error,
  outputs,
  completed_at: at,
}: GenerationView): string {
  const { held, captured, released } = credits;
  const files = hashesOf(outputs);
  return JSON.stringify({ id, account, state, stage, held, captured, released, error, files, at });
}

/** Who asked for a callback_url has it in the row, and nobody else. */
function wrongUrls({ world, rowOf }: Books): Finding[] {
  return world.asked
    .filter(({ id, toldByUrl }) => {
      const row = rowOf.get(id ?? '');
      return row !== undefined && (row.callbackUrl !== null) !== toldByUrl;
    })
    .map(({ id, toldByUrl }) => ({
      check: 'every end is told',
      generation: id,
      problem: toldByUrl ? 'its callback_url is not in its row' : 'its row has a callback_url',
    }));
}

function unsigned({ world }: Books): Finding[] {
  return world.received
    .filter(({ verified }) => !verified)
    .map(({ generationId, receiver, id, attempt }) => ({
      check: 'every webhook is signed',
      generation: generationId === '' ? null : generationId,
      problem: `attempt ${attempt} of ${id} at ${receiver} is not`,
    }));
}
