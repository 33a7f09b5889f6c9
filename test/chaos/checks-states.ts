import { waitUntil } from '../../src/dev/child.ts';
import type { Books, Finding, Row } from './open-books.ts';

const STREAMS = 30;
const STREAM_MS = 20_000;

/** API, rows and Temporal tell the same end. `runsMs` = how long the last runs may take to close. */
export async function checkStates(books: Books, runsMs: number): Promise<Finding[]> {
  return [
    ...books.rows.flatMap((row) => otherView(books, row)),
    ...books.rows.flatMap(wrongEvents),
    ...(await openRuns(books, runsMs)),
    ...(await failedRuns(books)),
    ...(await brokenStreams(books)),
  ];
}

function otherView({ views }: Books, row: Row): Finding[] {
  const check = 'the API tells what stands';
  const view = views.get(row.id);
  if (typeof view !== 'object') {
    return [{ check, generation: row.id, problem: `GET was answered with ${view ?? 'nothing'}` }];
  }
  const { state, stage, delivery, credits, error, outputs } = view;
  const told = { state, stage, delivery, ...credits, error: error?.code ?? null, files: hashesOf(outputs) };
  const amount = Number(row.hold?.amount ?? 0n);
  const captured = Number(row.hold?.captured ?? 0n);
  const stands = {
    state: row.state,
    stage: row.stage,
    delivery: row.delivery,
    held: row.completedAt === null ? amount : 0,
    captured,
    released: row.completedAt === null ? 0 : amount - captured,
    refunded: Number(row.hold?.refunded ?? 0n),
    error: row.errorCode,
    files: row.outputs
      .filter((one) => one.state === 'stored')
      .map(({ index, sha256 }) => `${index} ${Buffer.from(sha256 ?? []).toString('hex')}`)
      .join(),
  };
  const other = Object.entries(stands).filter(([name, value]) => told[name as keyof typeof told] !== value);
  if (other.length === 0) return [];
  const problem = other
    .map(([name, value]) => `${name} is ${value}, told ${told[name as keyof typeof told]}`)
    .join('; ');
  return [{ check, generation: row.id, problem }];
}

/** Which files, and what is in them. */
export function hashesOf(
  outputs: readonly { readonly index: number; readonly sha256: string | null }[],
): string {
  return outputs.map(({ index, sha256 }) => `${index} ${sha256 ?? ''}`).join();
}

/** Numbered without a gap; the end once, as the last one, and the one that the row has. */
function wrongEvents({ id, events, state, completedAt }: Row): Finding[] {
  const check = 'one end is told, as the last event';
  const ends = events.filter(({ type }) => type === 'terminal');
  const told = ends.map(({ data }) => (data as { state?: string }).state).join();
  const isRight =
    completedAt === null
      ? ends.length === 0
      : ends.length === 1 && events.at(-1)?.type === 'terminal' && told === state;
  if (isRight && events.every(({ seq }, at) => seq === at + 1)) return [];
  const problem = `${state}: ${events.map(({ seq, type }) => `${seq} ${type}`).join(', ')}; told as ${told}`;
  return [{ check, generation: id, problem }];
}

async function openRuns({ temporal, rowOf }: Books, runsMs: number): Promise<Finding[]> {
  let open: string[] = [];
  const closed = async () => {
    const ids = (await runsBy(temporal, 'Running')).map(({ generationId }) => generationId);
    open = [...new Set(ids)].filter((id) => rowOf.get(id)?.completedAt !== null);
    return open.length === 0;
  };
  await waitUntil(closed, { timeoutMs: runsMs, everyMs: 500 });
  return open.map((id) => ({
    check: 'an ended generation has no open run',
    generation: id,
    problem: `its row is ${rowOf.get(id)?.state ?? 'not there'}, its run is open`,
  }));
}

/** By design no run ever fails; each one that was terminated is one of those that we ended. */
async function failedRuns({ temporal, world }: Books): Promise<Finding[]> {
  const found = await Promise.all(
    ['Failed', 'TimedOut', 'Canceled', 'Terminated'].map(async (status) => {
      const runs = await runsBy(temporal, status);
      return runs
        .filter(({ runId }) => status !== 'Terminated' || !world.endedRuns.includes(runId))
        .map(({ generationId, runId }) => ({
          check: 'no run fails',
          generation: generationId,
          problem: `run ${runId} is ${status}`,
        }));
    }),
  );
  return found.flat();
}

interface Run {
  readonly generationId: string;
  readonly runId: string;
}

async function runsBy(temporal: Books['temporal'], status: string): Promise<Run[]> {
  const query = `WorkflowType = 'generateMedia' AND ExecutionStatus = '${status}'`;
  const runs: Run[] = [];
  for await (const { workflowId, runId } of temporal.workflow.list({ query })) {
    runs.push({ generationId: workflowId, runId });
  }
  return runs;
}

/** Some generations, read to the end by whoever follows them from the start. */
async function brokenStreams({ rows, world, apiKey }: Books): Promise<Finding[]> {
  const ended = rows.filter(
    ({ completedAt, eventsPrunedAt }) => completedAt !== null && eventsPrunedAt === null,
  );
  const step = Math.max(1, Math.floor(ended.length / STREAMS));
  const findings: Finding[] = [];
  for (const { id, events } of ended.filter((_, at) => at % step === 0).slice(0, STREAMS)) {
    const told = await followed(`${world.apiUrl}/v1/generations/${id}/events`, apiKey);
    const expected = events.map(({ seq, type }) => `${seq} ${type}`).join(', ');
    if (told === expected) continue;
    const problem = `the stream told ${told}; there are ${expected}`;
    findings.push({ check: 'a stream tells every event, to the end', generation: id, problem });
  }
  return findings;
}

async function followed(url: string, apiKey: string): Promise<string> {
  try {
    const headers = { authorization: `Bearer ${apiKey}`, accept: 'text/event-stream', 'last-event-id': '0' };
    const answer = await fetch(url, { headers, signal: AbortSignal.timeout(STREAM_MS) });
    const text = await answer.text();
    const events = [...text.matchAll(/^id: (\d+)\nevent: (\w+)$/gm)];
    return events.map(([, seq, type]) => `${seq} ${type}`).join(', ');
  } catch (error) {
    return `nothing but ${String(error)}`;
  }
}
