import { expect, test } from 'vitest';
import { MEDIA } from '../../src/simulators/media/kinds.ts';
import { createMediaCheck } from '../../src/storage/sniff.ts';
import { accepted, simulatorBench } from './bench.ts';
import { CREDENTIAL_NAME, type ProviderFixture } from './fixture.ts';

const NO_OUTPUT = { kind: 'failed', code: 'no_output' } as const;

/** A provider's whole life against its simulator, with the simulator's journal as witness. */
export function simulatorContract(fixture: ProviderFixture): void {
  const bench = simulatorBench(fixture);
  const { options, newPrompt, submit, ended, noSuchJob } = bench;
  /** Keeps a job in the queue where that is wanted. */
  const queued =
    fixture.life?.cancelsQueuedOnly === true ? [{ kind: 'render_ms', ms: 600_000 } as const] : [];

  test('submit, observe until it succeeded, fetch the output', async () => {
    const handle = accepted(await submit(newPrompt()));
    const observation = await ended(handle);
    if (observation.kind !== 'succeeded') throw new Error(observation.kind);
    expect(observation.outputs).toHaveLength(1);
    expect(observation.linkExpiresAt?.getTime() ?? Infinity).toBeGreaterThan(Date.now());
    const check = createMediaCheck();
    const download = await bench.http.download({
      url: observation.outputs[0]!.url,
      hosts: bench.provider.outputHosts,
      headersFor: (url) => bench.provider.downloadAuth(url, options.credential),
      limits: { maxBytes: 10_000_000, idleMs: 60_000, totalMs: 60_000 },
      signal: new AbortController().signal,
      write: (chunk) => {
        check.write(chunk);
        return Promise.resolve();
      },
    });
    if (download.kind !== 'complete') throw new Error(download.kind);
    const mediaType = MEDIA[fixture.media ?? 'video'].type;
    expect(download.contentType).toBe(mediaType);
    expect(check.finish(download.bytes)).toMatchObject({ ok: true, mediaType });
  });

  test.each([
    { fault: { kind: 'reset_before_accept' }, kind: 'unknown', jobs: 0 },
    { fault: { kind: 'reset_after_accept' }, kind: 'unknown', jobs: 1 },
    { fault: { kind: 'status_5xx' }, kind: 'unknown', jobs: 0 },
    { fault: { kind: 'status_5xx_after_accept' }, kind: 'unknown', jobs: 1 },
    { fault: { kind: 'html' }, kind: 'unknown', jobs: 0 },
    { fault: { kind: 'error_in_200' }, kind: 'unknown', jobs: 0 },
    { fault: { kind: 'missing_id' }, kind: 'unknown', jobs: 1 },
    { fault: { kind: 'slow_submit', ms: 2_000 }, kind: 'unknown', jobs: 1 },
    { fault: { kind: 'status_429', retry_after: 7 }, kind: 'capacity', jobs: 0 },
    { fault: { kind: 'refuse', status: 400 }, kind: 'refused', jobs: 0 },
    { fault: { kind: 'refuse_content' }, kind: 'content', jobs: 0 },
  ] as const)('one POST per submit, no re-send: $fault.kind', async ({ fault, kind, jobs }) => {
    const prompt = newPrompt();
    await bench.control.fault(prompt, fault);
    // All others are answered at once, however slow the machine is.
    const timeoutMs = fault.kind === 'slow_submit' ? 1_000 : 10_000;
    const answer = await submit(prompt, undefined, { timeoutMs });
    const expected = {
      unknown: { kind: 'unknown' },
      capacity: { kind: 'capacity', retryAfterMs: 7_000 },
      refused: fixture.life?.refused ?? { kind: 'refused' },
      content: fixture.life?.contentRefused ?? { kind: 'refused', code: 'content_rejected' },
    }[kind];
    const retryAfter = fixture.life?.capacityRetryAfterMs;
    const known = kind === 'capacity' && retryAfter !== undefined ? { retryAfterMs: retryAfter } : {};
    expect(answer).toMatchObject({ ...expected, ...known });
    const journal = await bench.control.journal(prompt);
    expect(journal.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
    expect(journal.jobs).toHaveLength(jobs);
  });

  test('the timeout given bounds every call', async () => {
    const prompt = newPrompt();
    await bench.control.fault(prompt, { kind: 'observe_hang' });
    const handle = accepted(await submit(prompt));
    const start = performance.now();
    const observation = await bench.provider.observe(handle, { ...options, timeoutMs: 1_000 });
    expect(observation).toMatchObject({ kind: 'unavailable', reason: 'timeout', denied: false });
    expect(performance.now() - start).toBeLessThan(options.timeoutMs - 1_000);
  });

  test('a wrong key is refused and denied, nothing is accepted', async () => {
    const prompt = newPrompt();
    const credential = { name: CREDENTIAL_NAME, apiKey: 'wrong' };
    expect(await submit(prompt, undefined, { credential })).toMatchObject({
      kind: 'refused',
      code: 'provider_rejected',
    });
    const observation = await bench.provider.observe(noSuchJob(), { ...options, credential });
    expect(observation).toMatchObject({ kind: 'unavailable', denied: true });
    expect((await bench.control.journal(prompt)).jobs).toEqual([]);
  });

  test('a job that never was is not_found', async () => {
    expect(await bench.provider.observe(noSuchJob(), options)).toEqual({ kind: 'not_found' });
  });

  test.each([
    { fault: { kind: 'fail', code: 'gpu_lost' }, expected: { kind: 'failed', code: 'provider_failed' } },
    {
      fault: { kind: 'moderated' },
      expected: fixture.life?.moderated ?? { kind: 'failed', code: 'content_rejected' },
    },
    {
      fault: { kind: 'succeeded_without_output' },
      expected: fixture.life?.emptyOutput ?? NO_OUTPUT,
    },
    {
      fault: { kind: 'succeeded_without_output', output: 'null' },
      expected: fixture.life?.nullOutput ?? NO_OUTPUT,
    },
  ] as const)('an end without output: $fault', async ({ fault, expected }) => {
    const prompt = newPrompt();
    await bench.control.fault(prompt, fault);
    expect(await ended(accepted(await submit(prompt)))).toMatchObject(expected);
  });

  test('an error inside 200 says nothing about the job', async () => {
    const prompt = newPrompt();
    await bench.control.fault(prompt, { kind: 'observe_error_in_200' });
    const handle = accepted(await submit(prompt));
    expect(await bench.provider.observe(handle, options)).toMatchObject({ kind: 'unavailable' });
  });

  test('D5 an unknown status is still running, with a flag', async () => {
    const prompt = newPrompt();
    await bench.control.fault(prompt, { kind: 'unknown_status', status: 'Rendering' });
    const handle = accepted(await submit(prompt));
    expect(await bench.provider.observe(handle, options)).toMatchObject(
      fixture.life?.unknownStatus ?? { kind: 'running', status: 'Rendering', unknownStatus: true },
    );
  });

  test('an output that expired is gone, not missing', async () => {
    const handle = accepted(await submit(newPrompt()));
    await ended(handle);
    await bench.control.post(`jobs/${encodeURIComponent(handle.jobId)}`, {
      expires_at: Math.floor(Date.now() / 1_000) - 1,
    });
    expect(await bench.provider.observe(handle, options)).toMatchObject(
      fixture.life?.expired ?? { kind: 'succeeded', outputs: [] },
    );
  });

  test('T29 a cancel ends its own job only', async () => {
    if (bench.provider.capabilities.cancel === 'unsupported') return;
    const prompt = newPrompt();
    await bench.control.fault(prompt, { kind: 'stuck' }, ...queued);
    const [first, second] = [accepted(await submit(prompt, 'c-1')), accepted(await submit(prompt, 'c-2'))];
    const { answer, observation } = fixture.life?.cancelled ?? {
      answer: { kind: 'answered', observation: { kind: 'cancelled' } },
      observation: { kind: 'cancelled' },
    };
    expect(await bench.provider.cancel(first, options)).toMatchObject(answer);
    expect(await bench.provider.observe(first, options)).toMatchObject(observation);
    expect(await bench.provider.observe(second, options)).toMatchObject({ kind: 'running' });
  });

  test('E1 a cancel that comes too late, or fails, is told as such', async () => {
    if (bench.provider.capabilities.cancel === 'unsupported') return;
    const prompt = newPrompt();
    await bench.control.fault(
      prompt,
      { kind: 'stuck' },
      ...queued,
      { kind: 'cancel_5xx', times: 1 },
      { kind: 'cancel_succeeded' },
    );
    const handle = accepted(await submit(prompt));
    const failed = fixture.life?.failedCancel ?? { kind: 'unavailable', reason: 'http_503' };
    expect(await bench.provider.cancel(handle, options)).toMatchObject(failed);
    expect(await bench.provider.cancel(handle, options)).toMatchObject(
      fixture.life?.lateCancel ?? { kind: 'answered', observation: { kind: 'succeeded' } },
    );
  });
}
