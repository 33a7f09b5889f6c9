import {
  claimDeliveries,
  claimDueGenerations,
  claimFileRemovals,
  claimLateObservations,
  countFileRemovals,
  countWaitingJobs,
  findGeneration,
  listAccountEntries,
  listGenerations,
  listWebhookDeliveries,
  pruneHistory,
  readCredits,
} from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import { findGenerations, type GenerationSearch } from '../../src/db/find-generations.ts';
import { readSpentToday, readProviderStates } from '../../src/db/provider-states.ts';
import { listCallbacks } from '../../src/db/read-callbacks.ts';
import { checkRecentInvariants } from '../../src/db/recent-invariants.ts';
import { readFindings } from '../../src/db/report-findings.ts';
import { readUsage } from '../../src/db/report.ts';
import { readSweepStates } from '../../src/db/states.ts';
import { readPageOfRuns, wakeUnseenCallbacks } from '../../src/db/sweep.ts';
import { asTrial } from '../../src/db/transaction.ts';
import { readWebhookStates } from '../../src/db/webhook-states.ts';
import type { SeededTenants } from './seed-rows.ts';

/** The columns of the report; each is the worst of its probes. */
export const COLUMNS = [
  'list',
  'find',
  'get',
  'account',
  'deliveries',
  'inbox',
  'sweep',
  'deliver',
  'gauges',
  'recent_doctor',
  'report',
  'housekeeping',
] as const;
export type ProbeColumn = (typeof COLUMNS)[number];

/** Where the seeded rows are. */
export interface Place extends SeededTenants {
  /** As given to seedRows. */
  readonly base: Date;
  /** A page that begins after nine tenths of the first tenant's rows. */
  readonly deep: { readonly createdAt: Date; readonly id: string };
  readonly deepDelivery: { readonly createdAt: Date; readonly id: bigint };
  readonly someId: string;
  /** Before this moment 200 generations had ended. */
  readonly old: Date;
}

/** One operation on a seeded database. */
export interface Probe {
  readonly name: string;
  readonly column: ProbeColumn;
  /** It is taken back afterwards, with what this statement made for it to find before it was measured. */
  readonly trial?: string;
  run(db: Db, place: Place): Promise<unknown>;
}

const PAGE = 21;
const FROM_MS = 1_200_000;

const search = (over: Partial<GenerationSearch>): GenerationSearch => ({
  states: [],
  stages: [],
  limit: PAGE,
  scanLimit: 20_000,
  ...over,
});
const list = (name: string, of: (place: Place) => Partial<Parameters<typeof listGenerations>[1]>): Probe => ({
  name: `list: ${name}`,
  column: 'list',
  run: (db, place) => listGenerations(db, { tenantId: place.tenants[0]!, limit: PAGE, ...of(place) }),
});
const find = (name: string, of: (place: Place) => Partial<GenerationSearch>): Probe => ({
  name: `find: ${name}`,
  column: 'find',
  run: (db, place) => findGenerations(db, search(of(place))),
});
const deliveries = (
  name: string,
  of: (place: Place) => Partial<Parameters<typeof listWebhookDeliveries>[1]>,
): Probe => ({
  name: `deliveries: ${name}`,
  column: 'deliveries',
  run: (db, place) => listWebhookDeliveries(db, { tenantId: place.tenants[0]!, limit: PAGE, ...of(place) }),
});
const inbox = (name: string, of: (place: Place) => Partial<Parameters<typeof listCallbacks>[1]>): Probe => ({
  name: `inbox: ${name}`,
  column: 'inbox',
  run: (db, place) => listCallbacks(db, { limit: PAGE, ...of(place) }),
});
const recently = ({ base }: Place, ms = FROM_MS) => new Date(base.getTime() - ms);
const keepMsOf = ({ old }: Place) => Date.now() - old.getTime();

/** All that Darkroom does with tables that grow, apart from the way of one generation and the whole doctor. */
export const PROBES: readonly Probe[] = [
  list('first page', () => ({})),
  list('deep page', ({ deep }) => ({ after: deep })),
  list('succeeded', () => ({ state: 'succeeded' })),
  list('running', () => ({ state: 'running' })),
  list('expired', () => ({ state: 'expired' })),
  list('expired, deep', ({ deep }) => ({ state: 'expired', after: deep })),
  list('queued', () => ({ state: 'queued' })),
  list('of an account', ({ smallAccount }) => ({ account: smallAccount })),
  list('of an account, failed', ({ smallAccount }) => ({ account: smallAccount, state: 'expired' })),
  list('of an unknown account', () => ({ account: 'nobody' })),
  list('of a model', ({ retiredModel }) => ({ model: retiredModel })),
  list('of a model, succeeded', ({ retiredModel }) => ({ model: retiredModel, state: 'succeeded' })),
  list('since', (place) => ({ createdAfter: recently(place) })),
  find('first page', () => ({})),
  find('expired', () => ({ states: ['expired'] })),
  find('needs operator', () => ({ stages: ['needs_operator'] })),
  find('overdue', () => ({ overdueMs: 60_000 })),
  find('of a job', ({ someId }) => ({ jobId: `job-${someId.slice(4)}` })),
  find('of a submission', ({ someId }) => ({ submissionId: `sub_${someId.slice(4)}_1` })),
  find('of a tenant and model', ({ tenants, retiredModel }) => ({
    tenantId: tenants[1]!,
    model: retiredModel,
  })),
  { name: 'get', column: 'get', run: (db, { tenants, someId }) => findGeneration(db, tenants[0]!, someId) },
  { name: 'credits', column: 'account', run: (db, { tenants }) => readCredits(db, tenants[0]!, 'default') },
  {
    name: 'entries: first page',
    column: 'account',
    run: (db, { tenants }) =>
      listAccountEntries(db, { tenantId: tenants[0]!, account: 'default', limit: PAGE, before: null }),
  },
  {
    name: 'entries: deep page',
    column: 'account',
    run: (db, { tenants, deep }) =>
      listAccountEntries(db, {
        tenantId: tenants[0]!,
        account: 'default',
        limit: PAGE,
        before: { at: deep.createdAt.toISOString(), id: '~' },
      }),
  },
  deliveries('first page', () => ({})),
  deliveries('deep page', ({ deepDelivery }) => ({ after: deepDelivery })),
  deliveries('failed', () => ({ state: 'failed' })),
  deliveries('pending', () => ({ state: 'pending' })),
  deliveries('held at an endpoint', ({ tenants }) => ({
    state: 'held',
    endpointId: tenants[0]!.replace('ten_', 'whe_'),
  })),
  deliveries('of a generation', ({ someId }) => ({ generationId: someId })),
  inbox('first page', () => ({})),
  inbox('of a job', ({ someId }) => ({ jobId: `job-${someId.slice(4)}` })),
  inbox('of an unknown job', () => ({ jobId: 'job-of-nobody' })),
  inbox('of a generation', ({ someId }) => ({ generationId: someId })),
  inbox('unseen', () => ({ unseen: true })),
  inbox('unmatched', () => ({ unmatched: true })),
  inbox('of a provider', () => ({ provider: 'replicate' })),
  {
    name: 'sweep: due',
    column: 'sweep',
    trial: `UPDATE generation SET due_at = now() - interval '1 minute' WHERE id IN (SELECT id FROM generation WHERE completed_at IS NULL ORDER BY id LIMIT 100)`,
    run: (db) => claimDueGenerations(db, { limit: 200, graceMs: 5_000 }),
  },
  {
    name: 'sweep: nothing due',
    column: 'sweep',
    trial: '',
    run: (db) => claimDueGenerations(db, { limit: 200, graceMs: 5_000 }),
  },
  {
    name: 'sweep: inbox',
    column: 'sweep',
    trial: '',
    run: (db) => wakeUnseenCallbacks(db, { after: null, limit: 500, olderThanMs: 1_000 }),
  },
  {
    name: 'sweep: runs',
    column: 'sweep',
    run: (db) => readPageOfRuns(db, { after: null, limit: 200, farMs: 60_000, unknown: false }),
  },
  {
    name: 'sweep: unknown runs',
    column: 'sweep',
    run: (db) => readPageOfRuns(db, { after: null, limit: 200, farMs: 60_000, unknown: true }),
  },
  {
    name: 'late observations',
    column: 'sweep',
    trial: `UPDATE submission SET late_due_at = now() WHERE id IN (SELECT id FROM submission ORDER BY id LIMIT 20)`,
    run: (db) => claimLateObservations(db, { limit: 20, leaseMs: 60_000, providers: ['infro', 'replicate'] }),
  },
  {
    name: 'deliver',
    column: 'deliver',
    trial: '',
    run: (db) => claimDeliveries(db, { limit: 50, perTarget: 4, perTenant: 16, leaseMs: 20_000 }),
  },
  { name: 'waiting jobs', column: 'gauges', run: (db) => countWaitingJobs(db) },
  { name: 'gauges: generations', column: 'gauges', run: (db) => readSweepStates(db, 5_000) },
  { name: 'gauges: webhooks', column: 'gauges', run: (db) => readWebhookStates(db) },
  { name: 'gauges: providers', column: 'gauges', run: (db) => readProviderStates(db) },
  { name: 'gauges: spent', column: 'gauges', run: (db) => readSpentToday(db, ['infro', 'replicate']) },
  {
    name: 'recent invariants',
    column: 'recent_doctor',
    run: (db, place) =>
      checkRecentInvariants(db, { from: recently(place).toISOString(), limit: 500, watched: [] }),
  },
  {
    name: 'report',
    column: 'report',
    async run(db, place) {
      const window = { from: recently(place), before: place.base, tenantId: null };
      return [await readUsage(db, window, ['tenant', 'model'], 1_000), await readFindings(db, window)];
    },
  },
  {
    name: 'housekeeping: files',
    column: 'housekeeping',
    trial: '',
    run: async (db) => [
      await claimFileRemovals(db, { limit: 100, leaseMs: 60_000 }),
      await countFileRemovals(db),
    ],
  },
  {
    name: 'housekeeping: expired files',
    column: 'housekeeping',
    trial: `UPDATE output SET expires_at = now() WHERE generation_id IN (SELECT generation_id FROM output ORDER BY generation_id LIMIT 100)`,
    run: (db) => claimFileRemovals(db, { limit: 100, leaseMs: 60_000 }),
  },
  {
    name: 'housekeeping: nothing old',
    column: 'housekeeping',
    trial: '',
    run: (db) => pruneHistory(db, { keepMs: 90 * 86_400_000, unmatchedKeepMs: 86_400_000, limit: 100 }),
  },
  {
    name: 'housekeeping: history',
    column: 'housekeeping',
    trial: '',
    run: (db, place) =>
      pruneHistory(db, { keepMs: keepMsOf(place), unmatchedKeepMs: 86_400_000, limit: 100 }),
  },
];

/** Makes one probe, measured by `around`; what it writes is taken back. */
export function runProbe(
  db: Db,
  probe: Probe,
  place: Place,
  around: (db: Db, run: () => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const { trial } = probe;
  if (trial === undefined) return around(db, () => probe.run(db, place));
  return asTrial(db, async (inner) => {
    if (trial !== '') await inner.prisma.$executeRawUnsafe(trial);
    await around(inner, () => probe.run(inner, place));
  });
}

/** Looks up what the probes ask for. `finished` = as given to seedRows. */
export async function findPlace(db: Db, seeded: SeededTenants, base: Date, finished: number): Promise<Place> {
  const tenantId = seeded.tenants[0]!;
  const skip = Math.floor(finished * 0.45);
  const [deep] = await db.prisma.$queryRaw<{ createdAt: Date; id: string }[]>`
    SELECT created_at AS "createdAt", id FROM generation WHERE tenant_id = ${tenantId} ORDER BY created_at DESC, id DESC OFFSET ${skip} LIMIT 1`;
  const [deepDelivery] = await db.prisma.$queryRaw<{ createdAt: Date; id: bigint }[]>`
    SELECT created_at AS "createdAt", id FROM webhook_delivery WHERE tenant_id = ${tenantId} ORDER BY created_at DESC, id DESC OFFSET ${skip} LIMIT 1`;
  const [old] = await db.prisma.$queryRaw<{ at: Date }[]>`
    SELECT completed_at AS at FROM generation WHERE completed_at IS NOT NULL ORDER BY completed_at OFFSET 200 LIMIT 1`;
  return { ...seeded, base, deep: deep!, deepDelivery: deepDelivery!, someId: deep!.id, old: old!.at };
}
