import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { createProviders } from '../../src/providers/index.ts';
import { smokeProvider } from '../../src/services/smoke-provider.ts';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { SIMULATORS } from '../../src/simulators/index.ts';
import { Control } from '../simulators/control.ts';

const simulators = new Map<string, RunningSimulator>();
let http: OutboundHttp;
beforeAll(async () => {
  for (const simulator of SIMULATORS) {
    simulators.set(simulator.name, await startSimulator(simulator, { renderMs: 50 }));
  }
  const allow = [...simulators.values()].map(({ url }) => ({
    host: new URL(url).hostname,
    port: Number(new URL(url).port),
  }));
  http = createOutboundHttp({ allow });
});
afterAll(async () => {
  await http.close();
  await Promise.all([...simulators.values()].map((simulator) => simulator.close()));
});

/** One job at this provider's simulator, on the first model of the default catalogue that goes there, or on this one. */
async function smoke(name: string, modelId?: string) {
  const { url } = simulators.get(name)!;
  const provider = createProviders({ http, providers: new Map([[name, { baseUrl: url }]]) }).get(name)!;
  const model = DEFAULT_CATALOGUE.models.find(
    ({ id, routes }) => id === (modelId ?? id) && routes.some((route) => route.provider === name),
  )!;
  const route = model.routes.find((candidate) => candidate.provider === name)!;
  const lines: string[] = [];
  const ctx = {
    http,
    provider,
    credential: { name: 'default', apiKey: 'sim-key' },
    say: (line: string) => lines.push(line),
    pollMs: 20,
  };
  const result = await smokeProvider(ctx, { model, route, idempotencyKey: randomUUID() });
  return { result, lines, sim: new Control(url) };
}

describe('darkroom provider smoke', () => {
  it.each(SIMULATORS.map(({ name }) => name))(
    '%s against its simulator: one job, as expected',
    async (name) => {
      const { result, lines, sim } = await smoke(name);
      expect(result.differences).toEqual([]);
      const { jobs } = await sim.journal();
      expect(jobs.map(({ submits }) => submits)).toEqual([1]);
      expect(lines.join('\n')).toMatch(/accepted: job .*output 0: \d+ bytes, (video|image|audio)\//s);
    },
  );

  it.each(['flux-video', 'flux-image'])('the cost may be told at the end or at once: %s', async (model) => {
    expect((await smoke('bfl', model)).result).toMatchObject({ jobId: expect.any(String), differences: [] });
  });

  it('tells every difference: an unknown status, a wrong file, a refusal', async () => {
    const sim = new Control(simulators.get('infro')!.url);
    await sim.post('faults', { kind: 'unknown_status', status: 'polishing', times: 1 });
    await sim.post('faults', { kind: 'link_html' });
    expect((await smoke('infro')).result.differences).toEqual([
      'status "polishing" is not in the adapter\u0027s table',
      expect.stringMatching(/^output 0 is /),
    ]);
    await sim.post('reset');
    await sim.post('faults', { kind: 'refuse', status: 403 });
    const { result } = await smoke('infro');
    expect(result).toEqual({
      jobId: null,
      differences: [expect.stringMatching(/^the submit was not accepted: refused, http_403/)],
    });
    await sim.post('reset');
  });
});
