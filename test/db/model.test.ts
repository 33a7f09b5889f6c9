import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGeneration, readCredits, requestCancel, settle } from '../../src/db/index.ts';
import type { Db, Proposal } from '../../src/db/index.ts';
import { useDatabase, violations } from './database.ts';
import {
  accept,
  answer,
  drop,
  grant,
  newGeneration,
  newTenant,
  observe,
  planFor,
  send,
  store,
} from './fixtures.ts';
import type { Tenant } from './fixtures.ts';

const test = useDatabase();

type Phase = 'queued' | 'sending' | 'unknown' | 'accepted' | 'ended' | 'storing' | 'done';
interface Gen {
  readonly price: number;
  readonly outputs: ('storing' | 'stored' | 'lost')[];
  readonly count: number;
  phase: Phase;
  flagged: boolean;
  ordinal: number;
}
/** What an account and its generations must be, kept beside the database. */
interface Model {
  granted: number;
  held: number;
  spent: number;
  grants: Map<string, number>;
  generations: Gen[];
}
interface Real {
  readonly db: Db;
  readonly tenant: Tenant;
  readonly ids: string[];
}
type Command = fc.AsyncCommand<Model, Real>;

/** After each command: the account is exactly as the model has it. */
async function compare(model: Model, { db, tenant }: Real): Promise<void> {
  const credits = (await readCredits(db, tenant.id, 'default'))!;
  expect(credits).toEqual({
    available: model.granted - model.held - model.spent,
    held: model.held,
    spent: model.spent,
  });
  expect(credits.available + credits.held + credits.spent).toBe(model.granted);
}

function command(
  name: string,
  check: (model: Model) => boolean,
  run: (model: Model, real: Real) => Promise<void>,
): Command {
  return {
    check: (model) => check(model),
    run: async (model, real) => {
      await run(model, real);
      await compare(model, real);
    },
    toString: () => name,
  };
}

/** A command on one generation that exists and is in one of these phases. */
function on(
  name: string,
  pick: number,
  phases: readonly Phase[],
  run: (gen: Gen, id: string, model: Model, real: Real) => Promise<void>,
): Command {
  const choose = (model: Model) => {
    const at = model.generations
      .map((gen, i) => ({ gen, i }))
      .filter(({ gen }) => phases.includes(gen.phase));
    return at.length === 0 ? undefined : at[pick % at.length];
  };
  return command(
    `${name}(${pick})`,
    (model) => choose(model) !== undefined,
    async (model, real) => {
      const { gen, i } = choose(model)!;
      await run(gen, real.ids[i]!, model, real);
    },
  );
}

function end(model: Model, gen: Gen, captured: number): void {
  model.held -= gen.price;
  model.spent += captured;
  gen.phase = 'done';
}

const create = (price: number, count: number) =>
  command(
    `create(${price}, ${count})`,
    () => true,
    async (model, { db, tenant, ids }) => {
      const wanted = newGeneration(tenant, { credits: price, plan: { ...planFor(count, price) } });
      const { outcome } = await createGeneration(db, wanted);
      const fits = model.granted - model.held - model.spent >= price;
      expect(outcome).toBe(fits ? 'created' : 'insufficient_credits');
      if (!fits) return;
      model.held += price;
      ids.push(wanted.generationId);
      model.generations.push({ price, count, outputs: [], phase: 'queued', flagged: false, ordinal: 1 });
    },
  );

const give = (key: string, credits: number) =>
  command(
    `grant(${key}, ${credits})`,
    () => true,
    async (model, { db, tenant }) => {
      const before = model.grants.get(key);
      const expected = before === undefined ? 'granted' : before === credits ? 'duplicate' : 'key_reuse';
      expect((await grant(db, tenant, credits, key)).outcome).toBe(expected);
      if (expected !== 'granted') return;
      model.granted += credits;
      model.grants.set(key, credits);
    },
  );

const submit = (pick: number) =>
  on('submit', pick, ['queued'], async (gen, id, _model, { db }) => {
    if (gen.flagged) return;
    await send(db, id, { ordinal: gen.ordinal });
    gen.phase = 'sending';
  });

const replied = (pick: number, kind: 'accepted' | 'refused' | 'unknown') =>
  on(`answer ${kind}`, pick, ['sending'], async (gen, id, _model, { db }) => {
    if (kind === 'accepted') await accept(db, id, `job-${id}-${gen.ordinal}`, gen.ordinal);
    else await answer(db, id, 1, kind, gen.ordinal);
    if (kind === 'accepted' || kind === 'unknown') gen.phase = kind;
    else [gen.phase, gen.ordinal] = ['queued', gen.ordinal + 1];
  });

const found = (pick: number) =>
  on('found', pick, ['unknown'], async (gen, id, _model, { db }) => {
    await accept(db, id, `job-${id}-${gen.ordinal}`, gen.ordinal);
    gen.phase = 'accepted';
  });

const observed = (pick: number, kind: 'succeeded' | 'failed') =>
  on(`observe ${kind}`, pick, ['accepted'], async (gen, id, _model, { db }) => {
    const submissionId = `sub_${id.slice(4)}_${gen.ordinal}`;
    await observe(db, id, kind, { submissionId, outputCount: gen.count });
    gen.phase = kind === 'succeeded' ? 'storing' : 'ended';
    if (kind === 'succeeded')
      gen.outputs.push(...Array.from({ length: gen.count }, () => 'storing' as const));
  });

const fetched = (pick: number, state: 'stored' | 'lost') =>
  on(`output ${state}`, pick, ['storing'], async (gen, id, _model, { db }) => {
    const index = gen.outputs.indexOf('storing');
    if (index < 0) return;
    await (state === 'stored' ? store(db, id, { index }) : drop(db, id, index, 'lost'));
    gen.outputs[index] = state;
  });

const cancel = (pick: number) =>
  on(
    'cancel',
    pick,
    ['queued', 'sending', 'unknown', 'accepted', 'ended', 'storing', 'done'],
    async (gen, id, model, { db }) => {
      const { outcome } = await requestCancel(db, { generationId: id, tenantId: null, actor: 'operator' });
      const expected =
        gen.phase === 'done' ? 'already_terminal' : gen.phase === 'queued' ? 'cancelled' : 'requested';
      expect(outcome).toBe(expected);
      if (expected === 'cancelled') end(model, gen, 0);
      gen.flagged ||= expected === 'requested';
    },
  );

function settles(gen: Gen, { state, errorCode }: Proposal): number | null {
  const stored = gen.outputs.filter((output) => output === 'stored').length;
  if (gen.phase === 'storing') {
    if (gen.outputs.includes('storing')) return null;
    if (state === 'succeeded' && stored > 0) return Math.max(1, Math.floor((gen.price * stored) / gen.count));
    return errorCode === 'output_lost' && stored === 0 ? 0 : null;
  }
  const free = gen.phase === 'queued' || gen.phase === 'ended';
  if (state === 'failed') return free && errorCode === 'provider_failed' ? 0 : null;
  return state === 'cancelled' && free && gen.flagged ? 0 : null;
}

const propose = (pick: number, proposal: Proposal) =>
  on(
    `settle ${proposal.state}`,
    pick,
    ['queued', 'sending', 'unknown', 'accepted', 'ended', 'storing', 'done'],
    async (gen, id, model, { db }) => {
      const captured = settles(gen, proposal);
      const { outcome } = await settle(db, id, proposal);
      expect(outcome).toBe(gen.phase === 'done' ? 'already' : captured === null ? 'stale' : 'settled');
      if (outcome === 'settled') end(model, gen, captured!);
    },
  );

const pick = fc.nat(7);
const commands = fc.commands(
  [
    fc
      .tuple(fc.integer({ min: 1, max: 120 }), fc.integer({ min: 1, max: 3 }))
      .map(([price, count]) => create(price, count)),
    fc
      .tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom(50, 70))
      .map(([key, credits]) => give(key, credits)),
    pick.map(submit),
    fc
      .tuple(pick, fc.constantFrom('accepted', 'accepted', 'refused', 'unknown'))
      .map(([n, kind]) => replied(n, kind)),
    pick.map(found),
    fc.tuple(pick, fc.constantFrom('succeeded', 'succeeded', 'failed')).map(([n, kind]) => observed(n, kind)),
    fc.tuple(pick, fc.constantFrom('stored', 'stored', 'lost')).map(([n, state]) => fetched(n, state)),
    pick.map(cancel),
    fc
      .tuple(
        pick,
        fc.constantFrom<Proposal>(
          { state: 'succeeded', errorCode: null },
          { state: 'failed', errorCode: 'provider_failed' },
          { state: 'failed', errorCode: 'output_lost' },
          { state: 'cancelled', errorCode: null },
        ),
      )
      .map(([n, proposal]) => propose(n, proposal)),
  ],
  { maxCommands: 60, size: 'max' },
);

describe('the functions against a model of the account', () => {
  it('available + held + spent = granted after each of any sequence of calls', async () => {
    await fc.assert(
      fc.asyncProperty(commands, async (sequence) => {
        const tenant = await newTenant(test.db, 300);
        const model = (): Model => ({ granted: 300, held: 0, spent: 0, grants: new Map(), generations: [] });
        await fc.asyncModelRun(() => ({ model: model(), real: { db: test.db, tenant, ids: [] } }), sequence);
        expect(await violations(test.db)).toEqual({});
      }),
      { numRuns: 40, interruptAfterTimeLimit: 8_000, markInterruptAsFailure: false },
    );
  });
});
