import type { Db } from '../db/index.ts';
import { readFindings, type ToLookInto } from '../db/report-findings.ts';
import { readToday, readUsage, type ReportColumn, type UsageFact } from '../db/report.ts';
import { inSnapshot } from '../db/transaction.ts';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 7;
/** Longer windows are asked for in parts. */
const MAX_DAYS = 366;
const MAX_ROWS = 10_000;

/** What was earned, given back and paid for; whole credits, costs as exact decimal texts, never summed over units. */
export interface UsageFigures {
  readonly generations: number;
  /** Captures; each is one generation that was delivered. */
  readonly succeeded: number;
  readonly credits: { readonly captured: number; readonly refunded: number; readonly net: number };
  readonly costs: readonly { readonly unit: string; readonly final: string; readonly estimated: string }[];
  /** Jobs that may be billed for an amount that nobody has told. */
  readonly jobs_without_cost: number;
}

export type UsageRow = UsageFigures & Partial<Record<ReportColumn, string>>;

export interface UsageReport {
  /** First and last day, UTC. */
  readonly from: string;
  readonly to: string;
  readonly tenant: string | null;
  readonly by: readonly ReportColumn[];
  readonly rows: readonly UsageRow[];
  readonly total: UsageFigures;
  readonly to_look_into: ToLookInto;
}

export type ReportOutcome =
  | { readonly outcome: 'reported'; readonly report: UsageReport }
  | { readonly outcome: 'unknown_tenant' }
  | { readonly outcome: 'ends_before_it_begins'; readonly from: string; readonly to: string }
  | { readonly outcome: 'too_long'; readonly maxDays: number }
  | { readonly outcome: 'too_many_rows'; readonly maxRows: number };

/** A report over UTC days, both included: the last 7 by default. Accounts are told apart by tenant, so that comes with them. */
export function reportUsage(
  ctx: { readonly db: Db },
  input: {
    /** `YYYY-MM-DD`. */
    readonly from: string | null;
    readonly to: string | null;
    readonly by: readonly ReportColumn[];
    readonly tenantId: string | null;
  },
): Promise<ReportOutcome> {
  return inSnapshot(ctx.db, async (db) => {
    const { tenantId } = input;
    if (
      tenantId !== null &&
      (await db.prisma.tenant.findUnique({ where: { id: tenantId }, select: { id: true } })) === null
    ) {
      return { outcome: 'unknown_tenant' };
    }
    const to = input.to ?? (await readToday(db));
    const from = input.from ?? dayOf(startOf(to) - (DEFAULT_DAYS - 1) * DAY_MS);
    const days = (startOf(to) - startOf(from)) / DAY_MS + 1;
    if (days < 1) return { outcome: 'ends_before_it_begins', from, to };
    if (days > MAX_DAYS) return { outcome: 'too_long', maxDays: MAX_DAYS };
    const window = { from: new Date(startOf(from)), before: new Date(startOf(to) + DAY_MS), tenantId };
    const by = withTenant(input.by);
    const facts = await readUsage(db, window, by, MAX_ROWS + 1);
    if (facts.length > MAX_ROWS) return { outcome: 'too_many_rows', maxRows: MAX_ROWS };
    const { rows, total } = figuresOf(facts, by);
    const findings = await readFindings(db, window);
    return {
      outcome: 'reported',
      report: { from, to, tenant: tenantId, by, rows, total, to_look_into: findings },
    };
  });
}

function withTenant(by: readonly ReportColumn[]): readonly ReportColumn[] {
  const asked = [...new Set(by)];
  const at = asked.indexOf('account');
  return at === -1 || asked.includes('tenant') ? asked : asked.toSpliced(at, 0, 'tenant');
}

const startOf = (day: string): number => Date.parse(`${day}T00:00:00Z`);
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

function figuresOf(
  facts: readonly UsageFact[],
  by: readonly ReportColumn[],
): { rows: UsageRow[]; total: UsageFigures } {
  const groups = new Map<string, { key: readonly string[] | null; facts: UsageFact[] }>();
  for (const fact of facts) {
    const id = JSON.stringify(fact.key);
    const group = groups.get(id) ?? { key: fact.key, facts: [] };
    group.facts.push(fact);
    groups.set(id, group);
  }
  const named = [...groups.values()].filter(({ key }) => key !== null);
  return {
    rows: named.map(({ key, facts: own }) => ({
      ...(Object.fromEntries(by.map((column, i) => [column, key?.[i] ?? ''])) as Partial<
        Record<ReportColumn, string>
      >),
      ...figures(own),
    })),
    total: figures(groups.get('null')?.facts ?? []),
  };
}

function figures(facts: readonly UsageFact[]): UsageFigures {
  const sum = (field: 'generations' | 'succeeded' | 'captured' | 'refunded' | 'withoutCost') =>
    whole(facts.reduce((total, fact) => total + fact[field], 0n));
  const [captured, refunded] = [sum('captured'), sum('refunded')];
  return {
    generations: sum('generations'),
    succeeded: sum('succeeded'),
    credits: { captured, refunded, net: captured - refunded },
    costs: facts.flatMap(({ unit, final, estimated }) => (unit === null ? [] : [{ unit, final, estimated }])),
    jobs_without_cost: sum('withoutCost'),
  };
}

function whole(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new RangeError(
      'A sum of credits is above 9007199254740991: report a shorter window or one tenant (--tenant).',
    );
  }
  return Number(value);
}
