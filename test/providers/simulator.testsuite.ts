import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CallOptions, Provider, ProviderHandle, SubmitAnswer } from '../../src/domain/provider.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import type { RunningSimulator } from '../../src/simulators/core.ts';
import { Control, eventually } from '../simulators/control.ts';
import { walkBoxes } from '../simulators/mp4-boxes.ts';
import { CREDENTIAL_NAME, type ProviderFixture } from './fixture.ts';
import { httpTo } from './scripted-server.ts';

const RENDER_MS = 40;

/** The handle of an accepted job; an Error for any other answer. */
function accepted(answer: SubmitAnswer): ProviderHandle {
  if (answer.kind !== 'accepted') throw new Error(`not accepted: ${answer.kind} ${answer.reason}`);
  return answer.handle;
}

/** A provider's whole life against its simulator, with the simulator's journal as witness. */
export function simulatorContract(fixture: ProviderFixture): void {
  let simulator: RunningSimulator;
  let control: Control;
  let http: OutboundHttp;
  let provider: Provider;
  let made = 0;
  const options: CallOptions = {
    credential: { name: CREDENTIAL_NAME, apiKey: fixture.apiKey },
    timeoutMs: 2_000,
  };

  beforeAll(async () => {
    simulator = await fixture.startSimulator({ apiKeys: [fixture.apiKey], renderMs: RENDER_MS });
    control = new Control(simulator.url);
    http = httpTo(simulator.url);
    provider = fixture.create(http, simulator.url);
  });
  afterAll(async () => {
    await http.close();
    await simulator.close();
  });

  const newPrompt = () => `contract prompt ${++made}.`;
  const submit = (prompt: string, key: string, over: Partial<CallOptions> = {}) =>
    provider.submit(
      provider.buildSubmit({
        providerModel: fixture.providerModel,
        input: fixture.input(prompt),
        callbackUrl: null,
      }),
      key,
      { ...options, ...over },
    );
  const ended = (handle: Parameters<Provider['observe']>[0]) =>
    eventually(async () => {
      const observation = await provider.observe(handle, options);
      return observation.kind === 'running' ? undefined : observation;
    });

  test('submit, observe until it succeeded, fetch the output', async () => {
    const handle = accepted(await submit(newPrompt(), 'life'));
    const observation = await ended(handle);
    if (observation.kind !== 'succeeded') throw new Error(observation.kind);
    expect(observation.outputs).toHaveLength(1);
    expect(observation.linkExpiresAt?.getTime()).toBeGreaterThan(Date.now());
    const chunks: Uint8Array[] = [];
    const download = await http.download({
      url: observation.outputs[0]!.url,
      hosts: provider.outputHosts,
      headersFor: (url) => provider.downloadAuth(url, options.credential),
      limits: { maxBytes: 1_000_000, idleMs: 2_000, totalMs: 5_000 },
      signal: new AbortController().signal,
      write: (chunk) => {
        chunks.push(chunk);
        return Promise.resolve();
      },
    });
    expect(download).toMatchObject({ kind: 'complete', contentType: 'video/mp4' });
    expect(walkBoxes(Buffer.concat(chunks)).map(({ type }) => type)).toEqual(['ftyp', 'moov', 'mdat']);
  });

  test.each([
    { fault: { kind: 'reset_before_accept' }, kind: 'unknown', jobs: 0 },
    { fault: { kind: 'reset_after_accept' }, kind: 'unknown', jobs: 1 },
    { fault: { kind: 'status_5xx' }, kind: 'unknown', jobs: 0 },
    { fault: { kind: 'status_5xx_after_accept' }, kind: 'unknown', jobs: 1 },
    { fault: { kind: 'html' }, kind: 'unknown', jobs: 0 },
    { fault: { kind: 'missing_id' }, kind: 'unknown', jobs: 1 },
    { fault: { kind: 'slow_submit', ms: 2_000 }, kind: 'unknown', jobs: 1 },
    { fault: { kind: 'status_429', retry_after: 7 }, kind: 'capacity', jobs: 0 },
    { fault: { kind: 'refuse', status: 400 }, kind: 'refused', jobs: 0 },
  ] as const)('one POST per submit, no re-send: $fault.kind', async ({ fault, kind, jobs }) => {
    const prompt = newPrompt();
    await control.fault(prompt, fault);
    const answer = await submit(prompt, `key ${prompt}`.replaceAll(' ', '-'), { timeoutMs: 300 });
    expect(answer).toMatchObject({ kind, ...(kind === 'capacity' ? { retryAfterMs: 7_000 } : {}) });
    const journal = await control.journal(prompt);
    expect(journal.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
    expect(journal.jobs).toHaveLength(jobs);
  });

  test('the timeout given bounds every call', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'observe_hang' });
    const handle = accepted(await submit(prompt, 'hang'));
    const start = performance.now();
    const observation = await provider.observe(handle, { ...options, timeoutMs: 150 });
    expect(observation).toMatchObject({ kind: 'unavailable', reason: 'timeout', denied: false });
    expect(performance.now() - start).toBeLessThan(1_000);
  });

  test('a wrong key is refused and denied, nothing is accepted', async () => {
    const prompt = newPrompt();
    const credential = { name: CREDENTIAL_NAME, apiKey: 'wrong' };
    expect(await submit(prompt, 'wrong', { credential })).toMatchObject({
      kind: 'refused',
      code: 'provider_rejected',
    });
    const observation = await provider.observe({ jobId: fixture.jobId }, { ...options, credential });
    expect(observation).toMatchObject({ kind: 'unavailable', denied: true });
    expect((await control.journal(prompt)).jobs).toEqual([]);
  });

  test('a job that never was is not_found', async () => {
    expect(await provider.observe({ jobId: fixture.jobId }, options)).toEqual({ kind: 'not_found' });
  });

  test.each([
    { fault: { kind: 'fail', code: 'gpu_lost' }, expected: { kind: 'failed', code: 'provider_failed' } },
    { fault: { kind: 'moderated' }, expected: { kind: 'failed', code: 'content_rejected' } },
    { fault: { kind: 'succeeded_without_output' }, expected: { kind: 'failed', code: 'no_output' } },
    {
      fault: { kind: 'succeeded_without_output', output: 'null' },
      expected: { kind: 'failed', code: 'no_output' },
    },
  ] as const)('an end without output: $fault', async ({ fault, expected }) => {
    const prompt = newPrompt();
    await control.fault(prompt, fault);
    const handle = accepted(await submit(prompt, prompt.replaceAll(' ', '-')));
    expect(await ended(handle)).toMatchObject(expected);
  });

  test('D5 an unknown status is still running, with a flag', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'unknown_status', status: 'Rendering' });
    const handle = accepted(await submit(prompt, 'unknown-status'));
    expect(await provider.observe(handle, options)).toMatchObject({
      kind: 'running',
      status: 'Rendering',
      unknownStatus: true,
    });
  });

  test('an output that expired is gone, not missing', async () => {
    const handle = accepted(await submit(newPrompt(), 'expiring'));
    await ended(handle);
    await control.post(`jobs/${handle.jobId}`, { expires_at: Math.floor(Date.now() / 1_000) - 1 });
    expect(await provider.observe(handle, options)).toMatchObject({ kind: 'succeeded', outputs: [] });
  });

  test('T29 a cancel ends its own job only', async () => {
    if (provider.capabilities.cancel === 'unsupported') return;
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'stuck' });
    const [first, second] = [accepted(await submit(prompt, 'c-1')), accepted(await submit(prompt, 'c-2'))];
    expect(await provider.cancel(first, options)).toMatchObject({
      kind: 'answered',
      observation: { kind: 'cancelled' },
    });
    expect(await provider.observe(first, options)).toMatchObject({ kind: 'cancelled' });
    expect(await provider.observe(second, options)).toMatchObject({ kind: 'running' });
  });

  test('E1 a cancel that comes too late, or fails, is told as such', async () => {
    if (provider.capabilities.cancel === 'unsupported') return;
    const prompt = newPrompt();
    await control.fault(
      prompt,
      { kind: 'stuck' },
      { kind: 'cancel_5xx', times: 1 },
      { kind: 'cancel_succeeded' },
    );
    const handle = accepted(await submit(prompt, 'late-cancel'));
    expect(await provider.cancel(handle, options)).toEqual({ kind: 'unavailable', reason: 'http_503' });
    const answer = await provider.cancel(handle, options);
    expect(answer).toMatchObject({ kind: 'answered', observation: { kind: 'succeeded' } });
  });

  test('A1 replay: same key and bytes give the same job', async () => {
    if (provider.capabilities.idempotency !== 'replay') return;
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'answer_lost_then_ok' });
    expect(await submit(prompt, 'replayed')).toMatchObject({ kind: 'unknown' });
    const handle = accepted(await submit(prompt, 'replayed'));
    expect(accepted(await submit(prompt, 'replayed'))).toEqual(handle);
    expect(await submit(newPrompt(), 'replayed')).toMatchObject({ kind: 'unknown' });
    const { jobs } = await control.journal(prompt);
    expect(jobs.map(({ id, submits }) => ({ id, submits }))).toEqual([{ id: handle.jobId, submits: 3 }]);
  });

  test('a replay while the first is in flight stays unknown', async () => {
    if (provider.capabilities.idempotency !== 'replay') return;
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'slow_submit', ms: 150 });
    const first = submit(prompt, 'in-flight');
    await eventually(async () => ((await control.journal(prompt)).jobs.length > 0 ? true : undefined));
    expect(await submit(prompt, 'in-flight')).toMatchObject({ kind: 'unknown' });
    expect(accepted(await first).jobId).toBe((await control.journal(prompt)).jobs[0]?.id);
  });

  test('list shows every job once, page by page', async () => {
    const list = provider.list?.bind(provider);
    if (list === undefined) return;
    const prompt = newPrompt();
    for (const n of [1, 2, 3]) await submit(prompt, `list-${n}`);
    const ids: string[] = [];
    for (let after: string | null = null, pages = 0; pages < 100; pages++) {
      const page: Awaited<ReturnType<typeof list>> = await list({ after, limit: 2 }, options);
      if (page.kind !== 'page') throw new Error(page.reason);
      ids.push(...page.jobs.map(({ handle }) => handle.jobId));
      after = page.nextCursor;
      if (after === null) break;
    }
    expect(ids).toEqual((await control.journal()).jobs.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    expect(await list({ after: 'no such cursor', limit: 2 }, options)).toMatchObject({ kind: 'unavailable' });
  });
}
