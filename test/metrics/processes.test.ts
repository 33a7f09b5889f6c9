import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePorts } from '../../src/dev/ports.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom, type Darkroom } from '../support/darkroom.ts';
import { alertRules, dashboard, groupingsOf, selectorsOf } from '../docs/promql.ts';
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
  await room.sim.fault(prompt, { kind: 'stuck' });
  const asked = await ask(room, 'by-callback', prompt, { deadline_seconds: 600 });
  const waiting = await eventually(async () => {
    const scrape = await Scrape.of(worker);
    return scrape.value('darkroom_jobs_waiting', { provider: 'infro', by: 'callback' }) === 1
      ? scrape
      : undefined;
  }, 60_000);
  const provider = 'infro';
  expect(waiting.value('darkroom_submit_answers_total', { provider, kind: 'accepted' })).toBe(1);
  const [job] = (await room.sim.journal(prompt)).jobs;
  await room.sim.post(`jobs/${job?.id}`, { status: 'succeeded' });
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

  const api = await Scrape.whole(room.apiUrl);
  expect(api.value('darkroom_callbacks_total', { provider, answer: 'recorded' })).toBe(1);
  const age = Date.now() / 1_000 - api.value('darkroom_callback_last_good_timestamp_seconds', { provider })!;
  expect(age).toBeGreaterThan(0);
  expect(age).toBeLessThan(60);
  expect(api.value('darkroom_jobs_waiting', { provider, by: 'callback' })).toBe(0);
  const texts = JSON.stringify([done.samples, api.samples]);
  for (const secret of [asked.id, prompt, room.tenantId]) expect(texts).not.toContain(secret);
});

it('the worker shows Temporal’s own metrics on the same page, all that the dashboard and the alerts name', async () => {
  const { samples } = await Scrape.whole(worker);
  expect(samples.find(({ name }) => name === 'darkroom_sdk_metrics_up')?.value).toBe(1);
  const expressions = [
    ...alertRules().map(({ expression }) => expression),
    ...dashboard().panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ].filter((expression) => expression.includes('temporal_'));
  expect(expressions.length).toBeGreaterThanOrEqual(6);
  for (const expression of expressions) {
    for (const { name, matchers } of selectorsOf(expression)) {
      const series = samples.filter((sample) => sample.name === name);
      expect([name, series.length > 0]).toEqual([name, true]);
      const has = (label: string) => series.some(({ labels }) => labels[label] !== undefined);
      for (const label of groupingsOf(expression))
        expect([name, label, has(label)]).toEqual([name, label, true]);
      for (const { label, values } of matchers) {
        for (const value of values)
          expect([name, value, series.some(({ labels }) => labels[label] === value)]).toEqual([
            name,
            value,
            true,
          ]);
      }
    }
  }
});

it('shows how long calls, callbacks and settling took, once each', async () => {
  const scrape = await Scrape.of(worker);
  const provider = 'infro';
  expect(scrape.value('darkroom_provider_call_seconds_count', { provider, call: 'submit' })).toBe(1);
  expect(
    scrape.value('darkroom_provider_call_seconds_count', { provider, call: 'observe' }),
  ).toBeGreaterThanOrEqual(1);
  for (const name of ['darkroom_callback_to_settled_seconds', 'darkroom_settle_lag_seconds']) {
    const settled = await eventually(async () => {
      const now = await Scrape.of(worker);
      return now.value(`${name}_count`, { provider }) === 1 ? now : undefined;
    }, 30_000);
    const seconds = settled.value(`${name}_sum`, { provider })!;
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThan(90);
  }
  const api = await Scrape.of(room.apiUrl);
  const create = { route: '/v1/generations', method: 'POST', status: '2xx' };
  expect(api.value('darkroom_request_duration_seconds_count', create)).toBe(1);
});

it('T60 made-up paths and methods add one series, not one each', async () => {
  const series = async () => (await Scrape.whole(room.apiUrl)).samples.length;
  const made = (name: string) => fetch(`${room.apiUrl}/${name}`, { method: 'PURGE' });
  await made('first');
  await series();
  const before = await series();
  await Promise.all(Array.from({ length: 40 }, (_, i) => made(`made-up-${i}`)));
  expect(await series()).toBe(before);
});
