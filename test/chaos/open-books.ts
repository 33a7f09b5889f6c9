import { Client, Connection } from '@temporalio/client';
import { openDb, type Db } from '../../src/db/index.ts';
import type { GenerationView } from '../../src/domain/generation-view.ts';
import type { Fault } from '../../src/simulators/faults.ts';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { Control, type JournalView } from '../simulators/control.ts';
import type { Faults } from './struck.ts';
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
  /** Without the faults of providers that met nobody: those explain nothing. */
  readonly faults: Faults;
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
  /** By the id of what they let one watch; none where that is over. */
  readonly watchTokens: ReadonlyMap<string, string>;
  /** What opens something without a key: in callback URLs, links to files, and for watching. */
  readonly tokens: readonly string[];
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
    const { views, watchTokens } = await readViews(world, apiKey, rows);
    return {
      world,
      faults: { ...world, providerFaults: await faultsThatStruck(world) },
      db,
      temporal: new Client({ connection }),
      rows,
      rowOf: new Map(rows.map((row) => [row.id, row])),
      askedFor: new Map(world.asked.map((asked) => [asked.idempotencyKey, asked])),
      jobs,
      jobsOf: (row) => byPrompt.get(promptText(row)) ?? [],
      views,
      apiKey,
      watchTokens,
      tokens: [
        ...new Set([
          ...(world.tokens ?? []),
          ...watchTokens.values(),
          ...jobs.flatMap(({ request_body: body }) => callbackTokensIn(body)),
          ...[...views.values()].flatMap(linkSignaturesIn),
        ]),
      ],
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
): Promise<{
  readonly views: Map<string, GenerationView | number>;
  readonly watchTokens: Map<string, string>;
}> {
  const views = new Map<string, GenerationView | number>();
  const watchTokens = new Map<string, string>();
  await inParallel(rows, async ({ id }) => {
    const answer = await fetch(`${apiUrl}/v1/generations/${id}`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    const text = await answer.text();
    views.set(id, answer.status === 200 ? (JSON.parse(text) as GenerationView) : answer.status);
    const token = answer.headers.get('watch-token');
    if (token !== null) watchTokens.set(id, token);
  });
  return { views, watchTokens };
}

/** Of the faults that the run set, those that the simulators say have struck. */
async function faultsThatStruck({ providerFaults, simulators }: World): Promise<World['providerFaults']> {
  const name = ({ kind, match }: Fault) => `${kind} ${match?.prompt ?? ''}`;
  const found = await Promise.all(
    Object.entries(providerFaults).map(async ([provider, faults]) => {
      const inForce = await new Control(simulators[provider] ?? '').faults();
      const struck = new Set(inForce.filter((one) => one.struck > 0).map(name));
      return [provider, faults.filter((one) => struck.has(name(one)))] as const;
    }),
  );
  return Object.fromEntries(found);
}

/** As they stand in the requests that providers got: `…/callbacks/{provider}/{token}`. */
function callbackTokensIn(requestBody: string): string[] {
  const text = decodeURIComponent(requestBody.replaceAll(/%(?![0-9a-f]{2})/gi, '%25'));
  return [...text.matchAll(/\/callbacks\/\w+\/(sub_\w+\.[\w-]{20,})/g)].map(([, token = '']) => token);
}

function linkSignaturesIn(view: GenerationView | number): string[] {
  if (typeof view === 'number') return [];
  return view.outputs.flatMap(({ url }) => /[?&]signature=([\w-]{20,})/.exec(url ?? '')?.[1] ?? []);
}

/** Few at once: the machine is shared with what is looked at. */
export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const one = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}
