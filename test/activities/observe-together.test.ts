import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Provider } from '../../src/domain/provider.ts';
import { createObserve } from '../../src/activities/observe-together.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { createKlingProvider } from '../../src/providers/kling.ts';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { klingSimulator } from '../../src/simulators/kling.ts';
import { Control } from '../simulators/control.ts';

let simulator: RunningSimulator;
let http: OutboundHttp;
let sim: Control;
const options = (name: string) => ({ credential: { name, apiKey: 'sim-key' }, timeoutMs: 60_000 });

beforeAll(async () => {
  simulator = await startSimulator(klingSimulator, { renderMs: 60_000 });
  http = createOutboundHttp({
    allow: [new URL(simulator.url)].map(({ hostname, port }) => ({ host: hostname, port: Number(port) })),
  });
  sim = new Control(simulator.url);
});
afterAll(async () => {
  await http.close();
  await simulator.close();
});

async function submit(count: number) {
  const kling = createKlingProvider({ http, baseUrl: simulator.url });
  const handles = await Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const key = `00000000-0000-5000-8000-${String(n).padStart(12, '0')}`;
      const job = {
        method: 'text-to-video',
        providerModel: 'kling-3.0',
        params: {},
        callbackUrl: null,
      } as const;
      const request = kling.buildSubmit({ ...job, input: { prompt: `rain ${n}` }, idempotencyKey: key });
      const answer = await kling.submit(request, key, options('default'));
      if (answer.kind !== 'accepted') throw new Error(answer.kind);
      return answer.handle;
    }),
  );
  return { kling, handles };
}

const observes = async () =>
  (await sim.journal()).requests.filter(({ path }) => path.startsWith('/tasks')).length;

test('looks that fall together share one call, each gets its own job’s state; a lone one does not wait', async () => {
  await sim.post('reset');
  const { kling, handles } = await submit(12);
  const observe = createObserve();
  const before = await observes();
  const seen = await Promise.all(handles.map((handle) => observe(kling, handle, options('default'))));
  expect(seen.map(({ kind }) => kind)).toEqual(handles.map(() => 'running'));
  // One at once, the eleven that came meanwhile together.
  expect((await observes()) - before).toBe(2);
});

test('a job that the shared answer does not show is asked for alone: gone means gone', async () => {
  await sim.post('reset');
  const { kling, handles } = await submit(3);
  const observe = createObserve();
  const gone = { jobId: '999999' };
  const seen = await Promise.all(
    [...handles, gone].map((handle) => observe(kling, handle, options('default'))),
  );
  expect(seen.map(({ kind }) => kind)).toEqual(['running', 'running', 'running', 'not_found']);
});

test('an answer that leaves a job out says nothing of it', async () => {
  await sim.post('reset');
  const { kling, handles } = await submit(3);
  const silent: Provider = { ...kling, observeMany: () => Promise.resolve([]) };
  const observe = createObserve();
  const seen = await Promise.all(handles.map((handle) => observe(silent, handle, options('default'))));
  expect(seen.map(({ kind }) => kind)).toEqual(['running', 'unavailable', 'unavailable']);
});

test('another credential is another call, and a provider without shared looks is asked each time', async () => {
  await sim.post('reset');
  const { kling, handles } = await submit(2);
  const observe = createObserve();
  const before = await observes();
  const [first, second] = handles;
  await Promise.all([observe(kling, first!, options('a')), observe(kling, second!, options('b'))]);
  expect((await observes()) - before).toBe(2);
  const single: Provider = { ...kling };
  delete (single as { observeMany?: unknown }).observeMany;
  const alone = await Promise.all(handles.map((handle) => observe(single, handle, options('default'))));
  expect(alone.map(({ kind }) => kind)).toEqual(['running', 'running']);
  expect((await observes()) - before).toBe(4);
});
