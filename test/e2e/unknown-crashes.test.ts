import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ServiceContext } from '../../src/services/context.ts';
import { resolveGeneration } from '../../src/services/resolve-generation.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ensured } from '../support/ensured.ts';
import { ask, expectPromise, get, until, untilEnd, uniquePrompt } from '../support/generations.ts';
import type { Asked } from '../support/generations.ts';
import { video } from '../support/provider-models.ts';
import { unknownCatalogue } from '../support/unknown-models.ts';

/** How long the providers keep their answers back: longer than all the submits need to arrive. */
const ANSWER_MS = 15_000;
const RECOVERY_MS = 85_000;
const NAMES = ['infro', 'kling', 'replicate list', 'replicate token', 'fal', 'bfl', 'crazyrouter', 'runway'];

vi.setConfig({ testTimeout: 120_000 });

let room: Darkroom;
const asked: Record<string, Asked> = {};

const providerOf = (name: string) => name.split(' ')[0]!;
const journalOf = (name: string) => room.sims[providerOf(name)]!.journal(asked[name]!.prompt);

async function askSlowly(name: string): Promise<void> {
  const provider = providerOf(name);
  const prompt = uniquePrompt(`killed at ${name}`);
  await room.sims[provider]!.fault(prompt, { kind: 'slow_submit', ms: ANSWER_MS });
  if (name === 'replicate list') await room.sims[provider]!.fault(prompt, { kind: 'no_callbacks' });
  const deadline = name === 'runway' ? { deadline_seconds: 45 } : {};
  asked[name] = await ask(room, `kill-${provider}`, prompt, { ...video(prompt), ...deadline });
}

/** All are accepted, none is stored: then the worker dies, and another one takes its place. */
beforeAll(async () => {
  room = await startDarkroom({ catalogue: unknownCatalogue });
  await Promise.all(NAMES.map(askSlowly));
  for (const name of NAMES) {
    await eventually(async () => ((await journalOf(name)).jobs.length > 0 ? true : undefined), ANSWER_MS);
  }
  await room.running.worker.stop(0, 'SIGKILL');
  const open = await room.db.prisma.submission.count({ where: { state: 'sending', providerJobId: null } });
  if (open !== NAMES.length) throw new Error(`${open} of ${NAMES.length} submits were under way`);
  await room.startWorker();
});
afterAll(() => room?.stop());

describe('worker killed (-9) between the acceptance and the storing of the id', () => {
  it.each([
    ['infro', 'replay', 'the same key gives the same job', 2],
    ['kling', 'lookup', 'found by our external id', 1],
    ['replicate list', 'none', 'found in its list by the callback URL', 1],
    ['replicate token', 'none', 'its callback names the job', 1],
    ['fal', 'none', 'its callback names the job', 1],
    ['bfl', 'none', 'its callback, with a secret of its own, names the job', 1],
  ])('%s (%s): %s, one job, delivered', async (name, _capability, _how, posts) => {
    await untilEnd(room, asked[name]!.id, RECOVERY_MS);
    const provider = providerOf(name);
    await expectPromise(room, asked[name]!, { provider, state: 'succeeded', jobs: 1 });
    await expectSubmits(name, posts);
  });

  it('crazyrouter (none, neither callback nor list): an operator ends it', async () => {
    const { id } = asked['crazyrouter']!;
    await until(room, id, ({ stage }) => stage === 'submission_unknown', RECOVERY_MS);
    expect((await get(room, id)).credits.held).toBe(40);
    const woken: Promise<void>[] = [];
    const starter: ServiceContext['starter'] = {
      enqueue(run, reason) {
        woken.push(ensured(room.client, run, reason));
        return true;
      },
    };
    const resolved = await resolveGeneration(
      { db: room.db, starter },
      { id, state: 'failed', errorCode: 'provider_unavailable', reason: 'not in its console', actor: 'ops' },
    );
    expect(resolved).toMatchObject({ outcome: 'resolved', state: 'failed', captured: 0 });
    await Promise.all(woken);
    const generation = await expectPromise(room, asked['crazyrouter']!, {
      provider: 'crazyrouter',
      state: 'failed',
      jobs: 1,
    });
    expect(generation.error?.code).toBe('provider_unavailable');
    await eventually(async () => {
      const { status } = await room.client.workflow.getHandle(id).describe();
      return status.name === 'COMPLETED' ? true : undefined;
    }, 90_000);
    await expectSubmits('crazyrouter', 1);
  });

  it('runway (none, neither callback nor list): its limit ends it', async () => {
    await untilEnd(room, asked['runway']!.id, RECOVERY_MS);
    const facts = { provider: 'runway', state: 'expired', jobs: 1 };
    const generation = await expectPromise(room, asked['runway']!, facts);
    expect(generation.error?.code).toBe('submission_unresolved');
    await expectSubmits('runway', 1);
  });
});

/** One submission, and as many POSTs of it. */
async function expectSubmits(name: string, posts: number): Promise<void> {
  const { requests, jobs } = await journalOf(name);
  expect(requests.filter(({ method }) => method === 'POST').length).toBe(posts);
  expect(jobs[0]?.submits).toBe(posts);
  expect(await room.db.prisma.submission.count({ where: { generationId: asked[name]!.id } })).toBe(1);
}
