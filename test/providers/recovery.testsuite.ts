import { expect, test } from 'vitest';
import { eventually } from '../simulators/control.ts';
import { startReceiver } from '../simulators/receiver.ts';
import { accepted, SIMULATOR_SECRET, simulatorBench } from './bench.ts';
import { CREDENTIAL_NAME, type ProviderFixture } from './fixture.ts';

/** How a lost answer is made good, by what the provider offers: replay, lookup, list, callback. */
export function recoveryContract(fixture: ProviderFixture): void {
  const bench = simulatorBench(fixture);
  const { options, newPrompt, submit, ended } = bench;

  test('A1 replay: same key and bytes give the same job', async () => {
    if (bench.provider.capabilities.idempotency !== 'replay') return;
    const prompt = newPrompt();
    await bench.control.fault(prompt, { kind: 'answer_lost_then_ok' });
    expect(await submit(prompt, 'replayed')).toMatchObject({ kind: 'unknown' });
    const handle = accepted(await submit(prompt, 'replayed'));
    expect(accepted(await submit(prompt, 'replayed'))).toEqual(handle);
    expect(await submit(newPrompt(), 'replayed')).toMatchObject({ kind: 'unknown' });
    const { jobs } = await bench.control.journal(prompt);
    expect(jobs.map(({ id, submits }) => ({ id, submits }))).toEqual([{ id: handle.jobId, submits: 3 }]);
  });

  test('a replay while the first is in flight stays unknown', async () => {
    if (bench.provider.capabilities.idempotency !== 'replay') return;
    const prompt = newPrompt();
    await bench.control.fault(prompt, { kind: 'slow_submit', ms: 2_000 });
    const first = submit(prompt, 'in-flight');
    await eventually(async () => ((await bench.control.journal(prompt)).jobs.length > 0 ? true : undefined));
    expect(await submit(prompt, 'in-flight')).toMatchObject({ kind: 'unknown' });
    expect(accepted(await first).jobId).toBe((await bench.control.journal(prompt)).jobs[0]?.id);
  });

  test('A1 lookup: a job whose answer was lost is found by our key, and taken once only', async () => {
    const find = bench.provider.find?.bind(bench.provider);
    if (bench.provider.capabilities.idempotency !== 'lookup' || find === undefined) return;
    const prompt = newPrompt();
    await bench.control.fault(prompt, { kind: 'reset_after_accept', times: 1 });
    expect(await find('looked-up', options)).toEqual({ kind: 'not_found' });
    expect(await submit(prompt, 'looked-up')).toMatchObject({ kind: 'unknown' });
    const found = await find('looked-up', options);
    if (found.kind !== 'found') throw new Error(found.kind);
    expect(await submit(prompt, 'looked-up')).toMatchObject({ kind: 'unknown' });
    expect((await bench.control.journal(prompt)).jobs.map(({ id }) => id)).toEqual([found.handle.jobId]);
    expect(await ended(found.handle)).toMatchObject({ kind: 'succeeded' });
    const wrong = { ...options, credential: { name: CREDENTIAL_NAME, apiKey: 'wrong' } };
    expect(await find('looked-up', wrong)).toMatchObject({ kind: 'unavailable' });
  });

  test('the handle from a job id and the sent bytes is as good as the one of the answer', async () => {
    const prompt = newPrompt();
    const key = 'handle-from-id';
    const job = { ...fixture.job, input: fixture.input(prompt), callbackUrl: null, idempotencyKey: key };
    const request = bench.provider.buildSubmit(job);
    const { jobId } = accepted(await bench.provider.submit(request, key, options));
    expect(await ended(bench.provider.handleFromJobId(jobId, request))).toMatchObject({ kind: 'succeeded' });
  });

  test('its callbacks verify and tell the job; forged ones do not', async () => {
    const { callbacks } = fixture;
    if (callbacks === null) return;
    const receiver = await startReceiver();
    const challenge = (body: Buffer) => bench.provider.challengeAnswer?.(body) ?? null;
    receiver.reply = (body) => challenge(body) ?? '';
    try {
      const prompt = newPrompt();
      await bench.control.fault(prompt, { kind: 'callback_forged' });
      const hook = '/hook/0123456789abcdef';
      const handle = accepted(await submit(prompt, undefined, {}, `${receiver.url}${hook}`));
      const secrets = callbacks.kind === 'unsigned' ? [] : (callbacks.configured ?? [SIMULATOR_SECRET]);
      const verdicts = () =>
        Promise.all(
          receiver.received
            .filter(({ body }) => challenge(body) === null)
            .map(async ({ path, headers, body }) => ({
              path,
              verdict: await bench.provider.verifyCallback(headers, body, secrets, Date.now()),
            })),
        );
      const isEnd = ({ path, verdict }: Awaited<ReturnType<typeof verdicts>>[number]) =>
        path === hook && verdict.ok && verdict.terminal && verdict.jobId === handle.jobId;
      const all = await eventually(async () => {
        const seen = await verdicts();
        return seen.some(isEnd) ? seen : undefined;
      });
      const wrong = all.filter(({ path, verdict }) => path !== hook || !verdict.ok);
      expect(wrong.length).toBeGreaterThanOrEqual(1);
    } finally {
      await receiver.close();
    }
  });

  test('list shows every job once, page by page', async () => {
    const list = bench.provider.list?.bind(bench.provider);
    if (list === undefined) return;
    const prompt = newPrompt();
    const hook = bench.provider.capabilities.callbacks === 'none' ? null : 'http://127.0.0.1:9/list-hook';
    for (const n of [1, 2, 3]) await submit(prompt, `list-${n}`, {}, hook);
    const ids: string[] = [];
    const echoes = new Set<string | null>();
    for (let after: string | null = null, pages = 0; pages < 100; pages++) {
      const page: Awaited<ReturnType<typeof list>> = await list({ after, limit: 2 }, options);
      if (page.kind !== 'page') throw new Error(page.reason);
      ids.push(...page.jobs.map(({ handle }) => handle.jobId));
      for (const { callbackUrl, externalId } of page.jobs) echoes.add(callbackUrl).add(externalId);
      after = page.nextCursor;
      if (after === null) break;
    }
    expect(ids).toEqual((await bench.control.journal()).jobs.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    expect(echoes.has(hook) || echoes.has('list-3')).toBe(bench.provider.capabilities.list);
    expect(await list({ after: 'no such cursor', limit: 2 }, options)).toMatchObject({ kind: 'unavailable' });
  });
}
