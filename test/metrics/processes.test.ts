import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePorts } from '../../src/dev/ports.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom, type Darkroom } from '../support/darkroom.ts';
import { ask, uniquePrompt, untilEnd } from '../support/generations.ts';
import { Scrape } from './samples.ts';

let room: Darkroom;
let worker: string;
beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  worker = `http://127.0.0.1:${port}`;
  process.env['METRICS_PORT'] = String(port);
  room = await startDarkroom();
  delete process.env['METRICS_PORT'];
});
afterAll(() => room?.stop());

it('API and worker show what one generation did: its submit, its callback, its looks, and that none waits', async () => {
  const prompt = uniquePrompt('metrics');
  await room.sim.fault(prompt, { kind: 'render_ms', ms: 9_000 });
  const asked = await ask(room, 'by-callback', prompt);
  const waiting = await eventually(async () => {
    const scrape = await Scrape.of(worker);
    return scrape.value('darkroom_jobs_waiting', { provider: 'infro', by: 'callback' }) === 1
      ? scrape
      : undefined;
  }, 60_000);
  const provider = 'infro';
  expect(waiting.value('darkroom_submit_answers_total', { provider, kind: 'accepted' })).toBe(1);
  await untilEnd(room, asked.id);

  const done = await eventually(async () => {
    const scrape = await Scrape.of(worker);
    return scrape.value('darkroom_jobs_waiting', { provider, by: 'callback' }) === 0 ? scrape : undefined;
  }, 60_000);
  expect(done.value('darkroom_observations_total', { provider, kind: 'succeeded' })).toBeGreaterThanOrEqual(
    1,
  );
  expect(done.value('darkroom_submit_answers_total', { provider, kind: 'unknown' })).toBe(0);
  expect(done.value('darkroom_circuit_open', { provider })).toBe(0);
  expect(done.value('darkroom_database_up')).toBe(1);

  const api = await Scrape.of(room.apiUrl);
  expect(api.value('darkroom_callbacks_total', { provider, answer: 'recorded' })).toBe(1);
  const age = Date.now() / 1_000 - api.value('darkroom_callback_last_good_timestamp_seconds', { provider })!;
  expect(age).toBeGreaterThan(0);
  expect(age).toBeLessThan(60);
  expect(api.value('darkroom_jobs_waiting', { provider, by: 'callback' })).toBe(0);
  const texts = JSON.stringify([done.samples, api.samples]);
  for (const secret of [asked.id, prompt, room.tenantId]) expect(texts).not.toContain(secret);
});
