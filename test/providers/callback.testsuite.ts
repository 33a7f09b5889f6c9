import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Provider } from '../../src/domain/provider.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import type { ProviderFixture } from './fixture.ts';
import { malformedBodies } from './malformed-bodies.ts';
import { httpTo, ScriptedServer } from './scripted-server.ts';
import { signedContract } from './signed.testsuite.ts';

const NOW_MS = Date.UTC(2026, 10, 29, 12);

/** Callbacks of a provider: right ones, and every wrong form (reliability.md 2.4, cases.md B). */
export function callbackContract(fixture: ProviderFixture): void {
  const { callbacks } = fixture;
  if (callbacks?.kind === 'signed') signedContract(fixture, callbacks);
  else unsignedContract(fixture, callbacks);
}

/** Without signatures, or without callbacks at all (null: nothing ever verifies). */
function unsignedContract(
  fixture: ProviderFixture,
  callbacks: Exclude<ProviderFixture['callbacks'], { readonly kind: 'signed' }>,
): void {
  let server: ScriptedServer;
  let http: OutboundHttp;
  let provider: Provider;
  beforeAll(async () => {
    server = await ScriptedServer.start();
    http = httpTo(server.url);
    provider = fixture.create(http, server.url, () => NOW_MS);
  });
  afterAll(async () => {
    await http.close();
    await server.close();
  });
  const verify = async (body: string | Buffer) =>
    provider.verifyCallback({}, typeof body === 'string' ? Buffer.from(body) : body, ['s'], NOW_MS);

  test('a good one tells job and type; where there are none, nothing verifies', async () => {
    expect(provider.capabilities.callbacks).toBe(callbacks?.kind ?? 'none');
    const body = callbacks?.body(fixture.jobId) ?? `{"id":"${fixture.jobId}"}`;
    expect(await verify(body)).toEqual(
      callbacks === null
        ? { ok: false, reason: 'unverified' }
        : { ok: true, jobId: fixture.jobId, ...callbacks.verdict },
    );
    expect(await verify('')).toMatchObject({ ok: false });
  });

  describe('WHI-8 WHI-11 no event', () => {
    const bodyOf = callbacks?.body ?? ((id: string) => `{"id":"${id}"}`);
    test.each(malformedBodies(bodyOf, fixture.jobId))('%s', async (_name, raw) => {
      const reason = callbacks === null ? 'unverified' : 'malformed';
      expect(await verify(raw)).toEqual({ ok: false, reason });
    });
  });
}
