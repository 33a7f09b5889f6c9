import { describe, expect, test } from 'vitest';
import type { OutboundHttp } from '../../src/net/index.ts';
import { createVeoProvider } from '../../src/providers/veo.ts';
import { VEO_SIMULATOR_AUDIENCE, veoSimulator } from '../../src/simulators/veo.ts';
import { startSimulator } from '../../src/simulators/core.ts';
import { Control, eventually } from '../simulators/control.ts';
import { startReceiver } from '../simulators/receiver.ts';
import { accepted, SIMULATOR_SECRET } from './bench.ts';
import type { ProviderFixture } from './fixture.ts';
import { recoveryContract } from './recovery.testsuite.ts';
import { httpTo } from './scripted-server.ts';
import { signedContract } from './signed.testsuite.ts';
import { common, NOW, ofTheProject, SECRET } from './veo-fixture.ts';
import { JOB, NOW_MS } from './veo-rows.ts';

describe('veo: the webhook of the project', () => {
  const fixture = {
    ...common,
    create: (http: OutboundHttp, baseUrl: string) =>
      createVeoProvider({ http, baseUrl, staticWebhooks: true }),
    callbacks: ofTheProject,
  } satisfies ProviderFixture;
  signedContract(fixture, ofTheProject);

  const http = httpTo();
  const provider = createVeoProvider({ http, baseUrl: 'https://g.example', staticWebhooks: true });
  const verify = async (event: object) => {
    const body = Buffer.from(JSON.stringify(event));
    return provider.verifyCallback(ofTheProject.sign(body, [SECRET], NOW), body, [SECRET], NOW_MS);
  };

  test('capability, and no URL in a request', () => {
    expect(provider.capabilities.callbacks).toBe('signed');
    const callbackUrl = 'https://h.example/callbacks/veo/t';
    const job = { ...common.job, method: 'text-to-video' as const, input: { prompt: 'x' } };
    const { body } = provider.buildSubmit({ ...job, callbackUrl, idempotencyKey: 'k' });
    expect(body).not.toContain('h.example');
  });

  test.each([
    ['batch.succeeded', 'batch_123456', null, false],
    ['video.generated', 'k9abc', null, true],
    ['video.generated', `operations/k9abc`, null, true],
    ['video.failed', JOB, JOB, true],
  ])('%s of %s: only a whole name is a job of ours', async (type, id, jobId, terminal) => {
    expect(await verify({ type, data: { id } })).toMatchObject({ ok: true, type, jobId, terminal });
  });

  test('it is sent by the simulator to a webhook made there, and verifies', async () => {
    const receiver = await startReceiver();
    const options = { apiKeys: ['k'], renderMs: 20, webhookSecrets: [SIMULATOR_SECRET] };
    const simulator = await startSimulator(veoSimulator, options);
    const own = httpTo(simulator.url);
    try {
      const made = await fetch(`${simulator.url}/v1beta/webhooks`, {
        method: 'POST',
        headers: { 'x-goog-api-key': 'k', 'content-type': 'application/json' },
        body: JSON.stringify({ uri: `${receiver.url}/static`, subscribed_events: ['video.generated'] }),
      });
      const { new_signing_secret: secret } = (await made.json()) as { new_signing_secret: string };
      const there = createVeoProvider({ http: own, baseUrl: simulator.url, staticWebhooks: true });
      const request = there.buildSubmit({
        ...common.job,
        method: 'text-to-video',
        input: { prompt: 'static' },
        callbackUrl: 'http://127.0.0.1:9/unused',
        idempotencyKey: 'k',
      });
      const call = { credential: { name: 'default', apiKey: 'k' }, timeoutMs: 10_000 };
      const { jobId } = accepted(await there.submit(request, 'k', call));
      const { path, headers, body } = await eventually(() => receiver.received[0], 60_000);
      expect(path).toBe('/static');
      expect(await there.verifyCallback(headers, body, [secret], Date.now())).toMatchObject({
        ok: true,
        jobId,
        type: 'video.generated',
        terminal: true,
      });
    } finally {
      await own.close();
      await simulator.close();
      await receiver.close();
    }
  });
});

describe('veo: the webhook of a request', () => {
  recoveryContract({
    ...common,
    create: (http, baseUrl, nowMs) =>
      createVeoProvider({ http, baseUrl, nowMs, webhookAudiences: [VEO_SIMULATOR_AUDIENCE] }),
    callbacks: { ...ofTheProject, configured: [] },
  });

  test('a failure is not announced: polling finds it', async () => {
    const receiver = await startReceiver();
    const simulator = await startSimulator(veoSimulator, { apiKeys: ['k'], renderMs: 20 });
    const control = new Control(simulator.url);
    const own = httpTo(simulator.url);
    try {
      const audiences = [VEO_SIMULATOR_AUDIENCE];
      const there = createVeoProvider({ http: own, baseUrl: simulator.url, webhookAudiences: audiences });
      const call = { credential: { name: 'default', apiKey: 'k' }, timeoutMs: 10_000 };
      await control.fault('fails', { kind: 'fail' });
      const submit = (prompt: string) => {
        const job = { ...common.job, method: 'text-to-video' as const, input: { prompt } };
        const callbackUrl = `${receiver.url}/${prompt}`;
        return there.submit(there.buildSubmit({ ...job, callbackUrl, idempotencyKey: 'k' }), 'k', call);
      };
      const failing = accepted(await submit('fails'));
      const seen = await eventually(async () => {
        const observation = await there.observe(failing, call);
        return observation.kind === 'running' ? undefined : observation;
      }, 60_000);
      expect(seen).toMatchObject({ kind: 'failed', code: 'provider_failed' });
      await submit('succeeds');
      await eventually(() => receiver.received.find(({ path }) => path === '/succeeds'), 60_000);
      expect(receiver.received.map(({ path }) => path)).toEqual(['/succeeds']);
    } finally {
      await own.close();
      await simulator.close();
      await receiver.close();
    }
  });
});
