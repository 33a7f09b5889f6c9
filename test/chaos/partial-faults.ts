import { setTimeout as sleep } from 'node:timers/promises';
import type { GenerationView } from '../../src/domain/generation-view.ts';
import { faultSchema } from '../../src/simulators/faults.ts';
import { Control } from '../simulators/control.ts';
import { MANY_OUTPUTS, MANY_PRICE } from './catalogue.ts';
import type { FaultContext } from './fault-context.ts';
import { seededChance } from './random.ts';
import type { Hit } from './strike.ts';
import type { Asked, Violation } from './types.ts';
import { IN_PART, wishForMany } from './wishes.ts';

const PROVIDER = 'fal';
const LOOK_MS = 50;
/** Until some outputs are stored and others are not: other faults may hold it up, then nothing is struck. */
const HALF_MS = 30_000;
/** Rounds in which every output is cut short, so that the pause after the next one is long enough for us. */
const ROUNDS = 2;

/** A generation of several outputs of which some are to be lost. */
export interface LostInPart {
  readonly asked: Asked;
  /** At most. */
  readonly lost: number;
}

/**
 * DL-8: of one job's outputs some are nothing that can be delivered, or the job is called failed when only some of them are
 * stored. What is left is delivered, and nothing else is charged: `partialPrices` judges it at the end.
 */
export async function loseSomeOutputs(context: FaultContext, seed: number): Promise<Hit> {
  const { load, providerFaults, partials } = context;
  const chance = seededChance(seed);
  const lost = chance.whole(1, MANY_OUTPUTS - 1);
  const isFailed = chance.hits(0.4);
  const words = `${IN_PART}${seed}`;
  const match = { prompt: words };
  const fault = isFailed
    ? { kind: 'link_truncated', match, times: ROUNDS * MANY_OUTPUTS + lost }
    : { kind: 'link_wrong_type', match, times: lost };
  await providerFaults.add(PROVIDER, [faultSchema.parse(fault)]);
  const asked = load.ask(wishForMany(words));
  partials.push({ asked, lost: isFailed ? MANY_OUTPUTS : lost });
  if (!isFailed) return { detail: `${lost} of ${MANY_OUTPUTS} outputs have another type`, hits: lost };
  const left = await failHalfway(context, asked, words);
  return { detail: `the job failed when ${left} of ${MANY_OUTPUTS} outputs were not yet stored`, hits: left };
}

/** @returns how many outputs were not stored when the provider called the job failed; 0 = it did not */
async function failHalfway({ stack, signal }: FaultContext, asked: Asked, words: string): Promise<number> {
  const control = new Control(stack.simulators[PROVIDER] ?? '');
  const outputs = async () => {
    const { rows } = await stack.sql
      .query<{ stored: number; open: number; ended: boolean }>(
        `SELECT count(o.*) FILTER (WHERE o.state = 'stored')::int AS stored, bool_or(g.completed_at IS NOT NULL) AS ended,
           count(o.*) FILTER (WHERE o.state = 'storing')::int AS open
         FROM generation g LEFT JOIN output o ON o.generation_id = g.id WHERE g.id = $1`,
        [asked.id],
      )
      .catch(() => ({ rows: [] }));
    return rows[0] ?? { stored: 0, open: 0, ended: false };
  };
  const until = performance.now() + HALF_MS;
  let now = await outputs();
  while (!signal.aborted && !now.ended && performance.now() < until && (now.stored === 0 || now.open === 0)) {
    await sleep(LOOK_MS);
    now = await outputs();
  }
  const job = (await control.journal(words)).jobs[0];
  if (job === undefined || now.ended || now.stored === 0 || now.open === 0) return 0;
  await control.post(`jobs/${job.id}`, { status: 'failed' });
  const ends = performance.now() + 2 * HALF_MS;
  while (!signal.aborted && !(await outputs()).ended && performance.now() < ends) await sleep(LOOK_MS);
  // It did succeed: the judge compares the journal with the row.
  await control.post(`jobs/${job.id}`, { status: 'succeeded' });
  return now.open;
}

/** What was delivered of those, and what it costs, by the API. @returns what is wrong */
export async function partialPrices({ partials, stack, client }: FaultContext): Promise<Violation[]> {
  const found: Violation[] = [];
  for (const { asked, lost } of partials.filter(({ asked: { id } }) => id !== null)) {
    const answer = await fetch(`${stack.apiUrls[0]}/v1/generations/${asked.id}`, {
      headers: { authorization: `Bearer ${client.key}` },
    });
    const view = (await answer.json()) as GenerationView;
    const problem = answer.status === 200 ? wrongPart(view, lost) : `GET is answered with ${answer.status}`;
    if (problem === null) continue;
    found.push({ check: 'a part is delivered at its part of the price', generation: asked.id, problem });
  }
  return found;
}

/** What is wrong with a generation of which at most so many outputs were lost; null = nothing. */
export function wrongPart(
  { state, delivery, outputs, credits }: Pick<GenerationView, 'state' | 'delivery' | 'outputs' | 'credits'>,
  lost: number,
): string | null {
  // Other faults may have kept it from its success; then the usual checks judge it.
  if (state !== 'succeeded') return null;
  const stored = outputs.length;
  const { captured, released, held } = credits;
  const said = `${stored} outputs, ${delivery}, captured ${captured}, released ${released}, held ${held}`;
  const isRight =
    stored >= Math.max(1, MANY_OUTPUTS - lost) &&
    delivery === (stored === MANY_OUTPUTS ? 'stored' : 'partial') &&
    new Set(outputs.map(({ index }) => index)).size === stored &&
    captured === stored * MANY_PRICE &&
    released === (MANY_OUTPUTS - stored) * MANY_PRICE &&
    held === 0;
  return isRight ? null : `at most ${lost} of ${MANY_OUTPUTS} were lost: ${said}`;
}
