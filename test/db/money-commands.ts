import type fc from 'fast-check';
import { expect } from 'vitest';
import {
  createGeneration,
  listAccountEntries,
  readCredits,
  refundGeneration,
  requestCancel,
  resolveGeneration,
  settle,
} from '../../src/db/index.ts';
import type { Db, NewGeneration, Proposal } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { violations } from './database.ts';
import { accept, answer, drop, grant, newGeneration, observe, send, sold, store } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';
import {
  available,
  captureOf,
  end,
  hasEnded,
  PHASES,
  priceOf,
  refundOf,
  resolutionOf,
  storedOf,
  succeed,
} from './money-model.ts';
import type { Gen, Model, Phase } from './money-model.ts';

export interface Real {
  readonly db: Db;
  readonly tenant: Tenant;
  readonly requests: NewGeneration[];
}
type Command = fc.AsyncCommand<Model, Real>;

/** After each command: balance and history are exactly as the model has them, and no invariant is violated. */
async function compare(model: Model, { db, tenant }: Real): Promise<void> {
  const { granted, held, spent } = model;
  expect(await readCredits(db, tenant.id, 'default')).toEqual({
    available: available(model),
    held,
    spent,
    granted,
  });
  const entries = await listAccountEntries(db, {
    tenantId: tenant.id,
    account: 'default',
    limit: 1_000,
    before: null,
  });
  const sum = (field: 'available' | 'held') => (entries ?? []).reduce((all, entry) => all + entry[field], 0);
  expect({ available: sum('available'), held: sum('held') }).toEqual({ available: available(model), held });
  expect(await violations(db)).toEqual({});
}

function command(name: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return {
    check: () => true,
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
  run: (gen: Gen, request: NewGeneration, model: Model, real: Real) => Promise<void>,
): Command {
  const choose = ({ generations }: Model) => {
    const at = generations.map((gen, i) => ({ gen, i })).filter(({ gen }) => phases.includes(gen.phase));
    return at[pick % Math.max(at.length, 1)];
  };
  return {
    ...command(`${name} [${pick}]`, async (model, real) => {
      const { gen, i } = choose(model)!;
      await run(gen, real.requests[i]!, model, real);
    }),
    check: (model) => choose(model) !== undefined,
  };
}

export const create = (each: number, count: number, overdue: boolean) =>
  command(
    `create ${count} × ${each}${overdue ? ', overdue' : ''}`,
    async (model, { db, tenant, requests }) => {
      const request = newGeneration(tenant, { ...sold(count, each), deadlineSeconds: overdue ? 0 : 900 });
      const { outcome } = await createGeneration(db, request);
      const fits = available(model) >= priceOf({ each, count });
      expect(outcome).toBe(fits ? 'created' : 'insufficient_credits');
      if (!fits) return;
      model.held += priceOf({ each, count });
      requests.push(request);
      model.generations.push({
        each,
        count,
        overdue,
        outputs: [],
        refunds: new Map(),
        phase: 'queued',
        flagged: false,
        ordinal: 1,
        captured: 0,
      });
    },
  );

export const createAgain = (pick: number) =>
  on('create again', pick, PHASES, async (_gen, request, _model, { db }) => {
    const { generationId } = request;
    expect(await createGeneration(db, request)).toMatchObject({ outcome: 'replayed', generationId });
  });

export const give = (key: string, credits: number) =>
  command(`grant ${key}: ${credits}`, async (model, { db, tenant }) => {
    const before = model.grants.get(key);
    const expected = before === undefined ? 'granted' : before === credits ? 'duplicate' : 'key_reuse';
    expect((await grant(db, tenant, credits, key)).outcome).toBe(expected);
    if (expected !== 'granted') return;
    model.granted += credits;
    model.grants.set(key, credits);
  });

export const submit = (pick: number) =>
  on('submit', pick, ['queued'], async (gen, { generationId }, _model, { db }) => {
    if (gen.flagged) return;
    await send(db, generationId, { ordinal: gen.ordinal });
    gen.phase = 'sending';
  });

export const replied = (pick: number, kind: 'accepted' | 'refused' | 'unknown') =>
  on(`answer ${kind}`, pick, ['sending'], async (gen, { generationId: id }, _model, { db }) => {
    if (kind === 'accepted') await accept(db, id, `job-${id}-${gen.ordinal}`, gen.ordinal);
    else await answer(db, id, 1, kind, gen.ordinal);
    if (kind === 'accepted' || kind === 'unknown') gen.phase = kind;
    else [gen.phase, gen.ordinal] = ['queued', gen.ordinal + 1];
  });

export const found = (pick: number) =>
  on('found', pick, ['unknown'], async (gen, { generationId: id }, _model, { db }) => {
    await accept(db, id, `job-${id}-${gen.ordinal}`, gen.ordinal);
    gen.phase = 'accepted';
  });

export const observed = (pick: number, kind: 'succeeded' | 'failed') =>
  on(`observe ${kind}`, pick, ['accepted'], async (gen, { generationId: id }, _model, { db }) => {
    await observe(db, id, kind, { submissionId: submissionId(id, gen.ordinal), outputCount: gen.count });
    if (kind === 'succeeded') succeed(gen);
    else gen.phase = 'ended';
  });

/** All at once from the queue to the success, or to the capture, so that sequences reach the end of the way. */
export const render = (pick: number, then: 'render' | 'sell' | 'sell a part') =>
  on(then, pick, ['queued'], async (gen, { generationId: id }, model, { db }) => {
    if (gen.flagged) return;
    await send(db, id, { ordinal: gen.ordinal });
    await accept(db, id, `job-${id}-${gen.ordinal}`, gen.ordinal);
    await observe(db, id, 'succeeded', {
      submissionId: submissionId(id, gen.ordinal),
      outputCount: gen.count,
    });
    succeed(gen);
    if (then === 'render') return;
    for (const index of gen.outputs.keys()) {
      const lost = then === 'sell a part' && index > 0;
      await (lost ? drop(db, id, index, 'lost') : store(db, id, { index }));
      gen.outputs[index] = lost ? 'lost' : 'stored';
    }
    const captured = gen.each * storedOf(gen);
    const settled = await settle(db, id, { state: 'succeeded', errorCode: null });
    expect(settled).toMatchObject({ outcome: 'settled', captured });
    end(model, gen, captured);
  });

/** One output, or all that are left. */
export const fetched = (pick: number, state: 'stored' | 'lost', all: boolean) =>
  on(`output ${state}`, pick, ['storing'], async (gen, { generationId: id }, _model, { db }) => {
    for (const [index, before] of gen.outputs.entries()) {
      if (before !== 'storing') continue;
      await (state === 'stored' ? store(db, id, { index }) : drop(db, id, index, 'lost'));
      gen.outputs[index] = state;
      if (!all) return;
    }
  });

export const cancel = (pick: number) =>
  on('cancel', pick, PHASES, async (gen, { generationId }, model, { db }) => {
    const { outcome } = await requestCancel(db, { generationId, tenantId: null, actor: 'operator' });
    const expected = hasEnded(gen) ? 'already_terminal' : gen.phase === 'queued' ? 'cancelled' : 'requested';
    expect(outcome).toBe(expected);
    if (expected === 'cancelled') end(model, gen, 0);
    gen.flagged ||= expected === 'requested';
  });

export const propose = (pick: number, proposal: Proposal, phases: readonly Phase[]) =>
  on(
    `settle ${proposal.errorCode ?? proposal.state}`,
    pick,
    phases,
    async (gen, { generationId }, model, { db }) => {
      const captured = captureOf(gen, proposal);
      const settled = await settle(db, generationId, proposal);
      expect(settled.outcome).toBe(hasEnded(gen) ? 'already' : captured === null ? 'stale' : 'settled');
      if (settled.outcome === 'settled') end(model, gen, captured!);
      if (settled.outcome !== 'stale') expect(settled.captured).toBe(gen.captured);
    },
  );

export const resolve = (pick: number, state: 'failed' | 'succeeded') =>
  on(`resolve ${state}`, pick, PHASES, async (gen, { generationId }, model, { db }) => {
    const errorCode = state === 'failed' ? 'provider_failed' : null;
    const by = { reason: 'looked into', actor: 'op' };
    const answered = await resolveGeneration(db, { generationId, state, errorCode, ...by });
    expect(answered.outcome === 'not_possible' ? answered.why : answered.outcome).toBe(
      resolutionOf(gen, state),
    );
    if (answered.outcome !== 'resolved') return;
    const captured = state === 'succeeded' ? gen.each * storedOf(gen) : 0;
    expect(answered.captured).toBe(captured);
    end(model, gen, captured);
  });

export const refund = (pick: number, reason: string, credits: number | null, phases: readonly Phase[]) =>
  on(`refund ${reason}: ${credits ?? 'all'}`, pick, phases, async (gen, { generationId }, model, { db }) => {
    const by = { reason, note: null, actor: 'op' };
    const answered = await refundGeneration(db, { generationId, credits, ...by });
    expect(answered).toEqual(refundOf(gen, reason, credits));
    if (answered.outcome !== 'refunded') return;
    gen.refunds.set(reason, answered.credits);
    model.spent -= answered.credits;
  });
