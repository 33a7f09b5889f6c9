import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallOptions, Provider } from '../../src/domain/provider.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { callbackContract } from './callback.testsuite.ts';
import { CREDENTIAL_NAME, type ProviderFixture } from './fixture.ts';
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
}

function answersContract(fixture: ProviderFixture): void {
  let server: ScriptedServer;
  let other: ScriptedServer;
  let http: OutboundHttp;
  let provider: Provider;
  const options: CallOptions = {
    credential: { name: CREDENTIAL_NAME, apiKey: fixture.apiKey },
    timeoutMs: 2_000,
  };
  const handle = { jobId: fixture.jobId };
  const build = () =>
    provider.buildSubmit({
      providerModel: fixture.providerModel,
      input: fixture.input('tide over black sand'),
      callbackUrl: 'https://hooks.example/x',
    });

  beforeAll(async () => {
    server = await ScriptedServer.start();
    other = await ScriptedServer.start();
    http = httpTo(server.url, other.url);
    provider = fixture.create(http, server.url, () => fixture.nowMs);
  });
  afterAll(async () => {
    await http.close();
    await Promise.all([server.close(), other.close()]);
  });

  test('the bytes of a submit are the same every time', () => {
    expect(build()).toEqual(build());
    expect(JSON.parse(build().body)).toBeTypeOf('object');
    expect(build().body).toContain('https://hooks.example/x');
  });

  test.each(fixture.submitRows)('submit: $name', async ({ answer, expect: expected }) => {
    server.answer = answer;
    server.seen.length = 0;
    const request = build();
    expect(await provider.submit(request, 'key-1', options)).toEqual(expected);
    expect(server.seen).toHaveLength(1);
    expect(server.seen[0]).toMatchObject({ method: 'POST', url: request.path, body: request.body });
  });

  test.each(fixture.observeRows)('observe: $name', async ({ answer, expect: expected }) => {
    server.answer = answer;
    expect(await provider.observe(handle, options)).toEqual(expected);
  });

  test.each(fixture.cancelRows)('cancel: $name', async ({ answer, expect: expected }) => {
    server.answer = answer;
    expect(await provider.cancel(handle, options)).toEqual(expected);
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
    expect(await provider.cancel(handle, options)).toMatchObject({ kind: 'unavailable' });
    expect(other.seen).toEqual([]);
    const { own, foreign } = fixture.outputUrls;
    const { apiKey } = options.credential;
    expect(JSON.stringify(provider.downloadAuth(new URL(foreign), options.credential))).not.toContain(apiKey);
    expect(provider.downloadAuth(new URL(own), options.credential)).toBeTypeOf('object');
  });

  test('a job id cannot leave its place in the path', async () => {
    server.answer = { status: 500 };
    server.seen.length = 0;
    await provider.observe(provider.handleFromJobId('a/../b?c#d'), options);
    expect(server.seen.map(({ url }) => url.split(/[/?#]/).includes('b'))).toEqual([false]);
  });
}
