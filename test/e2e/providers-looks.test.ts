import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogueSchema } from '../../src/domain/catalogue.ts';
import { grantCredits } from '../../src/services/grant-credits.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, call, expectPromise, get, until, untilEnd, uniquePrompt } from '../support/generations.ts';
import type { Asked } from '../support/generations.ts';
import {
  fastModel,
  polledModel,
  PROVIDER_ROWS,
  providerCatalogue,
  routeOf,
  video,
} from '../support/provider-models.ts';
import type { ProviderRow } from '../support/provider-models.ts';

/** A model of this provider whose job is not looked at soon, unless something asks for it. */
const rareModel = ({ name, callbacks }: ProviderRow): string => (callbacks ? name : `${name}-rare`);
const rare = { pollInitialMs: 20_000, pollMaxMs: 20_000 };
const catalogue = catalogueSchema.parse({
  models: [
    ...providerCatalogue.models,
    ...PROVIDER_ROWS.filter(({ callbacks }) => !callbacks).map((row) =>
      fastModel(rareModel(row), [routeOf(row.name)], rare),
    ),
  ],
});

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ catalogue });
});
afterAll(() => room?.stop());

type Faults = Parameters<Darkroom['sim']['fault']>[1][];

async function started(provider: string, model: string, faults: Faults, more: object = {}): Promise<Asked> {
  const prompt = uniquePrompt(model);
  await room.sims[provider]!.fault(prompt, ...faults);
  return ask(room, model, prompt, { ...video(prompt), ...more });
}

const jobOf = (provider: string, { prompt }: Asked) =>
  eventually(async () => (await room.sims[provider]!.journal(prompt)).jobs[0], 90_000);

async function finish(provider: string, asked: Asked): Promise<void> {
  const { id } = await jobOf(provider, asked);
  await room.sims[provider]!.post(`jobs/${encodeURIComponent(id)}`, { status: 'succeeded' });
}

/** Some can be cancelled only at its beginning. */
const RENDERS_LONG = { kind: 'render_ms', ms: 240_000 } as const;

/** Each tells nothing about the job, once. */
const BAD_LOOKS: Faults = [
  ...[401, 402, 403, 503].map((status) => ({ kind: 'observe_5xx', status, times: 1 }) as const),
  { kind: 'observe_error_in_200', times: 1 },
  { kind: 'observe_404', times: 1 },
  ...['nsfw', 'foo_new'].map((status) => ({ kind: 'unknown_status', status, times: 1 }) as const),
];

describe.concurrent.each(PROVIDER_ROWS)('$name', (row) => {
  const { name, cancel, emptyOutput = 'no_output' } = row;

  it.concurrent('D3 D5 T21 T25 every bad answer to a look is a missed look, then it is delivered', async () => {
    const asked = await started(name, polledModel(row), [{ kind: 'stuck' }, ...BAD_LOOKS]);
    await eventually(
      async () => ((await jobOf(name, asked)).observes > BAD_LOOKS.length ? true : undefined),
      40_000,
    );
    expect(await get(room, asked.id)).toMatchObject({ state: 'running', credits: { held: 40 }, error: null });
    await finish(name, asked);
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { provider: name, state: 'succeeded', jobs: 1 });
  });

  it.concurrent.each(['empty', 'null'] as const)(
    `D1 succeeded with its output %s: ${emptyOutput}`,
    async (output) => {
      const asked = await started(name, name, [{ kind: 'succeeded_without_output', output }]);
      await untilEnd(room, asked.id, 60_000);
      const generation = await expectPromise(room, asked, { provider: name, state: 'failed', jobs: 1 });
      expect(generation.error?.code).toBe(emptyOutput);
      expect((await jobOf(name, asked)).downloads).toBe(0);
    },
  );

  it.concurrent('E1 it had finished before the cancel: delivered, too late, its output not destroyed', async () => {
    const asked = await started(name, rareModel(row), [{ kind: 'stuck' }, { kind: 'no_callbacks' }]);
    await until(room, asked.id, ({ stage }) => stage === 'waiting');
    await finish(name, asked);
    await call(room, 'DELETE', `/v1/generations/${asked.id}`);
    await untilEnd(room, asked.id, 60_000);
    const generation = await expectPromise(room, asked, { provider: name, state: 'succeeded', jobs: 1 });
    expect(generation.cancellation?.outcome).toBe('too_late');
    expect((await jobOf(name, asked)).cancels).toBe(0);
  });

  it.concurrent.each(cancel === 'unsupported' ? [] : [cancel])(
    'E3 its cancel fails three times: the wish is kept, asked again, %s',
    async (outcome) => {
      const asked = await started(name, name, [RENDERS_LONG, { kind: 'cancel_5xx', times: 3 }]);
      await until(room, asked.id, ({ stage }) => stage === 'waiting');
      const first = await call(room, 'DELETE', `/v1/generations/${asked.id}`);
      expect(first.body.cancellation).toMatchObject({ requested_by: 'tenant', outcome: 'requested' });
      const second = await call(room, 'DELETE', `/v1/generations/${asked.id}`);
      expect([first.status, second.status]).toEqual([202, 202]);
      expect(second.body.cancellation?.requested_at).toBe(first.body.cancellation?.requested_at);
      await untilEnd(room, asked.id, 60_000);
      const generation = await expectPromise(room, asked, { provider: name, state: 'cancelled', jobs: 1 });
      expect(generation.cancellation?.outcome).toBe(outcome);
      expect((await jobOf(name, asked)).cancels).toBe(4);
    },
  );
});

describe('the deadline', () => {
  it.concurrent('T24 T26 looks that are never answered do not move it: expired soon after, released', async () => {
    const faults: Faults = [{ kind: 'observe_hang' }, { kind: 'no_callbacks' }];
    const asked = await started('infro', 'infro-polled', faults, { deadline_seconds: 12 });
    const { deadline_at: deadline, completed_at: completed } = await untilEnd(room, asked.id, 60_000);
    const lateMs = Date.parse(completed ?? '') - Date.parse(deadline);
    expect(lateMs).toBeGreaterThanOrEqual(0);
    // 1.5 s of grace and one look of 2 s, beside what the machine needs; a sweep of a minute would show.
    expect(lateMs).toBeLessThan(30_000);
    const generation = await expectPromise(room, asked, { state: 'expired', jobs: 1 });
    expect(generation.error?.code).toBe('deadline_exceeded');
  });

  it.concurrent('D6 it finishes a moment before: delivered', async () => {
    const faults: Faults = [{ kind: 'stuck' }, { kind: 'no_callbacks' }];
    const asked = await started('kling', 'kling', faults, { deadline_seconds: 15 });
    await until(room, asked.id, ({ stage }) => stage === 'waiting');
    // The look at the deadline is the first one that is due.
    await finish('kling', asked);
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { provider: 'kling', state: 'succeeded', jobs: 1 });
  });
});

it.concurrent('D5 an account with nothing left after the hold: looked at, downloaded, delivered, charged from it', async () => {
  const account = { tenantId: room.tenantId, account: 'poor', credits: 40 };
  const grant = { ...account, businessKey: 'poor', reason: 'test', actor: 'test' };
  await grantCredits({ db: room.db }, grant);
  const asked = await started('infro', 'infro-polled', [{ kind: 'render_ms', ms: 2_000 }], {
    account: 'poor',
  });
  const more = { model: 'infro', ...video('one more'), account: 'poor' };
  expect((await call(room, 'POST', '/v1/generations', more)).status).toBe(402);
  await untilEnd(room, asked.id, 60_000);
  await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
});

it.concurrent('T29 one of three is cancelled: the other two are delivered', async () => {
  const asked = await Promise.all(
    [1, 2, 3].map(() => started('replicate', 'replicate', [{ kind: 'stuck' }])),
  );
  const [first] = asked as [Asked];
  await Promise.all(asked.map(({ id }) => until(room, id, ({ stage }) => stage === 'waiting')));
  await call(room, 'DELETE', `/v1/generations/${first.id}`);
  for (const [n, one] of asked.entries()) {
    if (n > 0) await finish('replicate', one);
    await untilEnd(room, one.id, 60_000);
    const state = n === 0 ? 'cancelled' : 'succeeded';
    await expectPromise(room, one, { provider: 'replicate', state, jobs: 1 });
  }
});
