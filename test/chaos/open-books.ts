import { Client, Connection } from '@temporalio/client';
import { openDb, type Db } from '../../src/db/index.ts';
import type { GenerationView } from '../../src/domain/generation-view.ts';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { Control, type JournalView } from '../simulators/control.ts';
import type { Asked, World } from './types.ts';

const AT_ONCE = 8;

/** A job as a simulator has it. */
export type Job = JournalView['jobs'][number] & {
  readonly provider: string;
  /** null = of a prompt that nobody asked for. */
  readonly prompt: string | null;
};

/** A generation with all that hangs on its row. */
export type Row = Awaited<ReturnType<typeof readRows>>[number];

/** The three books side by side; `close` it. */
export interface Books {
  readonly world: World;
  readonly db: Db;
  readonly temporal: Client;
  readonly rows: readonly Row[];
  readonly rowOf: ReadonlyMap<string, Row>;
  /** By idempotency key. */
  readonly askedFor: ReadonlyMap<string, Asked>;
  readonly jobs: readonly Job[];
  /** All simulators' jobs of one row, by its prompt. */
  readonly jobsOf: (row: Row) => readonly Job[];
  /** What the API shows now, by id; a status where it shows nothing. */
  readonly views: ReadonlyMap<string, GenerationView | number>;
  /** A key of the tenant, for streams. */
  readonly apiKey: string;
  readonly journals: Readonly<Record<string, JournalView>>;
  readonly close: () => Promise<void>;
}

/** Something that is not as it must be; `checkBooks` makes a violation of it. */
export interface Finding {
  readonly check: string;
  readonly generation: string | null;
  readonly problem: string;
}

/** Reads all three; the views of the API too. @throws when one of them can't be read */
export async function openBooks(world: World): Promise<Books> {
  const db = openDb(world.databaseUrl, { poolSize: 4 });
  const connection = Connection.lazy({ address: world.temporalAddress });
  const close = async () => {
    await Promise.allSettled([connection.close(), db.close()]);
  };
  try {
    const rows = await readRows(db);
    const journals = Object.fromEntries(
      await Promise.all(
        Object.entries(world.simulators).map(async ([name, url]) => [name, await new Control(url).journal()]),
      ),
    ) as Record<string, JournalView>;
    const prompts = new Set(world.asked.map(({ prompt }) => prompt));
    const jobs = Object.entries(journals).flatMap(([provider, journal]) =>
      journal.jobs.map((job) => ({ ...job, provider, prompt: promptOf(job.request_body, prompts) })),
    );
    const byPrompt = new Map<string | null, Job[]>();
    for (const job of jobs) byPrompt.set(job.prompt, [...(byPrompt.get(job.prompt) ?? []), job]);
    const tenantId = rows[0]?.tenantId;
    const apiKey = tenantId === undefined ? '' : await makeKey(db, tenantId);
    return {
      world,
      db,
      temporal: new Client({ connection }),
      rows,
      rowOf: new Map(rows.map((row) => [row.id, row])),
      askedFor: new Map(world.asked.map((asked) => [asked.idempotencyKey, asked])),
      jobs,
      jobsOf: (row) => byPrompt.get(promptText(row)) ?? [],
      views: await readViews(world, apiKey, rows),
      apiKey,
      journals,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The prompt of a row's input. */
export function promptText({ input }: Pick<Row, 'input'>): string {
  return (input as { prompt?: string }).prompt ?? '';
}

function readRows(db: Db) {
  return db.prisma.generation.findMany({
    orderBy: { createdAt: 'asc' },
    include: {
      account: true,
      hold: true,
      submissions: { orderBy: { ordinal: 'asc' }, include: { orphans: true, lateSuccess: true } },
      outputs: { orderBy: { index: 'asc' } },
      events: { orderBy: { seq: 'asc' } },
      transactions: { include: { entries: true } },
      webhooks: { include: { deliveries: { include: { tries: true } } } },
    },
  });
}

async function makeKey(db: Db, tenantId: string): Promise<string> {
  const { text } = await createApiKey(
    { db },
    { tenantId, scopes: ['generations'], label: 'the three books' },
  );
  return text;
}

/** Wherever a provider's request has it. */
function promptOf(requestBody: string, prompts: ReadonlySet<string>): string | null {
  let found: string | null = null;
  try {
    JSON.parse(requestBody, (_key, value: unknown) => {
      if (typeof value === 'string' && prompts.has(value)) found = value;
      return value;
    });
  } catch {
    // A form: each of its texts is a line.
    return requestBody.split('\r\n').find((line) => prompts.has(line)) ?? null;
  }
  return found;
}

async function readViews(
  { apiUrl }: World,
  apiKey: string,
  rows: readonly Row[],
): Promise<Map<string, GenerationView | number>> {
  const views = new Map<string, GenerationView | number>();
  await inParallel(rows, async ({ id }) => {
    const answer = await fetch(`${apiUrl}/v1/generations/${id}`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    const text = await answer.text();
    views.set(id, answer.status === 200 ? (JSON.parse(text) as GenerationView) : answer.status);
  });
  return views;
}

/** Few at once: the machine is shared with what is looked at. */
export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const one = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}
