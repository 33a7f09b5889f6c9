import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallOptions, Provider, ProviderHandle } from '../../src/domain/provider.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { callbackContract } from './callback.testsuite.ts';
import { at, CREDENTIAL_NAME, type ProviderFixture, type Row } from './fixture.ts';
import { recoveryContract } from './recovery.testsuite.ts';
import { httpTo, ScriptedServer } from './scripted-server.ts';
import { simulatorContract } from './simulator.testsuite.ts';

/** What every provider must pass: answer tables, credentials, timeouts, callbacks, and a life against its simulator. */
export function providerContract(fixture: ProviderFixture): void {
  describe(`${fixture.name}: answers`, () => {
    answersContract(fixture);
  });
  describe(`${fixture.name}: callbacks`, () => {
    callbackContract(fixture);
  });
  describe(`${fixture.name}: against its simulator`, () => {
    simulatorContract(fixture);
  });
  describe(`${fixture.name}: after a lost answer`, () => {
    recoveryContract(fixture);
  });
}

function answersContract(fixture: ProviderFixture): void {
  let server: ScriptedServer;
  let other: ScriptedServer;
  let http: OutboundHttp;
  let provider: Provider;
  const options: CallOptions = {
    credential: { name: CREDENTIAL_NAME, apiKey: fixture.apiKey },
    timeoutMs: 10_000,
  };
  let handle: ProviderHandle;
  const build = () =>
    provider.buildSubmit({
      ...fixture.job,
      input: fixture.input('tide over black sand'),
      callbackUrl: 'https://hooks.example/x',
      callbackSecret: 'secret-of-this-submit',
      idempotencyKey: 'key-1',
    });
  const script = ({ answer }: Row<unknown>) => {
    server.answer = typeof answer === 'function' ? (request) => answer(request, server.url) : answer;
    server.seen.length = 0;
  };

  beforeAll(async () => {
    server = await ScriptedServer.start();
    other = await ScriptedServer.start();
    http = httpTo(server.url, other.url);
    provider = fixture.create(http, server.url, () => fixture.nowMs);
    handle = fixture.handle?.(server.url) ?? { jobId: fixture.jobId };
  });
  afterAll(async () => {
    await http.close();
    await Promise.all([server.close(), other.close()]);
  });

  test('the bytes of a submit are the same every time', () => {
    expect(build()).toEqual(build());
    if (build().contentType === 'application/json') expect(JSON.parse(build().body)).toBeTypeOf('object');
    const sent = `${decodeURIComponent(build().path)} ${build().body}`;
    expect(sent.includes('https://hooks.example/x')).toBe(provider.capabilities.callbacks !== 'none');
    expect(sent.includes('secret-of-this-submit')).toBe(provider.ownCallbackSecrets === true);
  });

  test('what it does not offer is a defect: a method, a field, a member of params that it sets itself', () => {
    const job = {
      ...fixture.job,
      input: fixture.input('x'),
      callbackUrl: null,
      idempotencyKey: 'key-1',
    };
    const offered = provider.methods[fixture.job.method] ?? [];
    expect(Object.keys(fixture.input('x')).filter((field) => !offered.includes(field as never))).toEqual([]);
    expect(() => provider.buildSubmit({ ...job, method: 'no-such-method' as never })).toThrow(Error);
    expect(() => provider.buildSubmit({ ...job, input: { ...job.input, no_such_field: 1 } })).toThrow(Error);
  });

  test.each(fixture.submitRows)('submit: $name', async (row) => {
    script(row);
    const request = build();
    expect(await provider.submit(request, 'key-1', options)).toEqual(at(row.expect, server.url));
    expect(server.seen).toHaveLength(1);
    expect(server.seen[0]).toMatchObject({ method: 'POST', url: request.path, body: request.body });
  });

  test.each(fixture.observeRows)('observe: $name', async (row) => {
    script(row);
    expect(await provider.observe(handle, options)).toEqual(at(row.expect, server.url));
  });

  test.each(fixture.cancelRows)('cancel: $name', async (row) => {
    script(row);
    expect(await provider.cancel(handle, options)).toEqual(at(row.expect, server.url));
  });

  test('a cancel that is not offered sends nothing', async () => {
    if (provider.capabilities.cancel !== 'unsupported') return;
    script({ name: '', answer: { status: 200 }, expect: null });
    expect(await provider.cancel(handle, options)).toEqual({ kind: 'unsupported' });
    expect(server.seen).toEqual([]);
  });

  test('find and list are there exactly where the capabilities need them', () => {
    const { idempotency, list } = provider.capabilities;
    expect(provider.find !== undefined || idempotency !== 'lookup').toBe(true);
    expect(provider.list !== undefined || !list).toBe(true);
  });

  test('an address where nobody listens is not_sent', async () => {
    const gone = await ScriptedServer.start();
    await gone.close();
    const goneHttp = httpTo(gone.url);
    const answer = await fixture.create(goneHttp, gone.url).submit(build(), 'key-1', options);
    expect(answer).toEqual({ kind: 'not_sent', reason: 'connect_refused' });
    await goneHttp.close();
  });

  test('SSRF-7 a redirect is not followed, and the key goes nowhere else', async () => {
    server.answer = { status: 307, headers: { location: `${other.url}/stolen` } };
    other.seen.length = 0;
    expect(await provider.submit(build(), 'key-1', options)).toMatchObject({ kind: 'unknown' });
    expect(await provider.observe(handle, options)).toMatchObject({ kind: 'unavailable', denied: false });
    if (provider.capabilities.cancel !== 'unsupported') {
      expect(await provider.cancel(handle, options)).toMatchObject({ kind: 'unavailable' });
    }
    expect(other.seen).toEqual([]);
    const { own, foreign } = fixture.outputUrls;
    const { apiKey } = options.credential;
    expect(JSON.stringify(provider.downloadAuth(new URL(foreign), options.credential))).not.toContain(apiKey);
    expect(provider.downloadAuth(new URL(own), options.credential)).toBeTypeOf('object');
  });

  test('a job id cannot leave its place in the path', async () => {
    server.answer = { status: 500 };
    server.seen.length = 0;
    const look = async () => provider.observe(provider.handleFromJobId('a/../b?c#d', build()), options);
    await look().catch(() => 'refused as a defect');
    expect(server.seen.filter(({ url }) => url.split(/[/?#]/).includes('b'))).toEqual([]);
  });
}
