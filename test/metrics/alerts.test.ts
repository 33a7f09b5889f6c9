import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { setProviderBudget } from '../../src/db/index.ts';
import { countTakenCallback } from '../../src/metrics/callback-metrics.ts';
import { apiMetrics, createSdkMetrics, workerMetrics } from '../../src/metrics/index.ts';
import { measureRequest } from '../../src/metrics/latency-metrics.ts';
import { useDatabase } from '../db/database.ts';
import { eventually } from '../simulators/control.ts';
import { alertRules, dashboard, groupingsOf, selectorsOf } from '../docs/promql.ts';
import { parseSamples, type Sample } from './samples.ts';

const database = useDatabase();
const rules = alertRules();
const { panels, templating, ...board } = dashboard();
const targets = panels.flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, ...target })));
const expressions = [
  ...rules.map(({ name, expression }) => ({ name, expression })),
  ...targets.map(({ title, expr }) => ({ name: title, expression: expr })),
];
const [operations = ''] = ['OPERATIONS.md'].map((file) =>
  readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'),
);

let text: string;
let samples: Sample[];
beforeAll(async () => {
  const { db } = database;
  const budget = { provider: 'infro', amountPerDay: '1', unit: 'USD', reason: 'test', actor: 'test' };
  await setProviderBudget(db, budget);
  countTakenCallback('infro', 'recorded', 1);
  for (const [route, status] of [
    ['/v1/generations', 202],
    ['/v1/generations/{id}/events', 200],
    [null, 404],
    ['/v1/generations', 503],
  ] as const)
    measureRequest({ route, method: 'POST', status, ms: 5 });
  const answer = { kind: 'not_sent', reason: 'connect_refused' } as const;
  const sdk = createSdkMetrics({ request: async () => answer }, 'http://127.0.0.1:1/metrics');
  const pages = [apiMetrics(db, ['infro']), workerMetrics(db, ['infro'], sdk)];
  // A read that took longer than a scrape may wait leaves its series out; it is made again after 5 s.
  await eventually(async () => {
    text = (await Promise.all(pages.map((page) => page.render()))).join('');
    samples = parseSamples(text);
    const shown = new Set(samples.map(({ name }) => name));
    return ['generations', 'paused', 'jobs_waiting', 'webhook_deliveries'].every((name) =>
      shown.has(`darkroom_${name}`),
    )
      ? true
      : undefined;
  }, 60_000);
});

/** Our own metrics that an expression names; those of Temporal’s SDK are compared to a real worker in processes.test.ts. */
const ownOf = (expression: string) =>
  selectorsOf(expression).filter(({ name }) => name.startsWith('darkroom_'));

describe('docs/alerts.yml', () => {
  it('has rules, each with severity, words, what to do and an expression over our metrics', () => {
    expect(rules.length).toBeGreaterThanOrEqual(30);
    for (const { text, expression } of rules) {
      expect(text).toMatch(/^Darkroom[A-Za-z]+\n/);
      expect(text).toMatch(/\n {8}labels: \{ severity: (warning|critical) \}\n/);
      expect(text).toMatch(
        /\n {10}summary: '[^']+'\n {10}description: '[^']+'\n {10}runbook: 'OPERATIONS\.md#[^']+'\n/,
      );
      expect(selectorsOf(expression).length).toBeGreaterThan(0);
    }
    expect(new Set(rules.map(({ name }) => name)).size).toBe(rules.length);
  });

  it('leads to headings that OPERATIONS.md has', () => {
    const anchors = [...operations.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );
    for (const { name, text } of rules)
      expect([name, anchors]).toContainEqual(
        expect.arrayContaining([/OPERATIONS\.md#([^']+)/.exec(text)![1]]),
      );
  });

  it('words only by labels that the expression keeps', () => {
    for (const { name, text, expression } of rules) {
      const kept = groupingsOf(expression);
      for (const [, label = ''] of text.matchAll(/\$labels\.([a-z_]+)/g))
        expect([name, kept]).toContainEqual(expect.arrayContaining([label]));
    }
  });

  it.each([
    ['no good callback while jobs wait', 'darkroom_callback_last_good_timestamp_seconds'],
    ['jobs that wait for a callback', 'darkroom_jobs_waiting'],
    ['failed verifications', 'darkroom_callback_failures_total'],
    ['unknown submits', 'darkroom_submit_answers_total'],
    ['an open circuit', 'darkroom_circuit_open'],
    ['a budget that is reached', 'darkroom_daily_budget_reached'],
    ['an unknown status string', 'darkroom_unknown_statuses_total'],
    ['outputs that can not be stored', 'darkroom_output_problems_total'],
    ['webhooks that nobody delivers', 'darkroom_webhook_oldest_due_seconds'],
    ['webhooks that can not be signed', 'darkroom_webhook_attempts_total'],
    ['webhooks that were given up', 'darkroom_webhook_deliveries'],
    ['endpoints that were disabled', 'darkroom_webhook_endpoints_disabled_total'],
    ['K1 the age of the oldest that no provider was asked for', 'darkroom_oldest_generation_seconds'],
    ['what waits for a person', 'darkroom_needs_operator'],
    ['violated invariants', 'darkroom_invariant_violations'],
    ['rows that stand still', 'darkroom_generations_overdue'],
    ['holds beyond their time', 'darkroom_holds_overdue'],
    ['what was paused and forgotten', 'darkroom_paused'],
    ['a key that a provider refuses', 'darkroom_provider_errors_total'],
    ['requests that fail', 'darkroom_request_duration_seconds_count'],
    ['workers that are gone', 'temporal_num_pollers'],
    ['log lines that lack something', 'darkroom_log_fields_dropped_total'],
  ])('watches %s', (_what, metric) => {
    expect(rules.flatMap(({ expression }) => selectorsOf(expression)).map(({ name }) => name)).toContain(
      metric,
    );
  });
});

describe('docs/grafana-dashboard.json', () => {
  it('is a dashboard: own ids, places that do not overlap, a data source to choose', () => {
    expect(board).toMatchObject({ title: 'Darkroom', uid: 'darkroom' });
    expect(board.schemaVersion).toBeGreaterThanOrEqual(36);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = new Set<string>();
    for (const { title, gridPos } of panels) {
      expect([title, gridPos.x + gridPos.w <= 24]).toEqual([title, true]);
      for (let { y } = gridPos; y < gridPos.y + gridPos.h; y += 1) {
        for (let { x } = gridPos; x < gridPos.x + gridPos.w; x += 1) {
          expect([title, taken.has(`${x},${y}`)]).toEqual([title, false]);
          taken.add(`${x},${y}`);
        }
      }
    }
    expect(templating.list.map(({ name, type }) => [name, type])).toEqual([
      ['datasource', 'datasource'],
      ['provider', 'query'],
    ]);
    expect(panels.filter(({ type }) => type === 'row').length).toBeGreaterThanOrEqual(6);
    expect(targets.length).toBeGreaterThanOrEqual(40);
  });

  it('names a series only by labels that the expression keeps', () => {
    for (const { title, expr, legendFormat } of targets) {
      const kept = groupingsOf(expr);
      for (const [, label = ''] of legendFormat.matchAll(/\{\{([a-z_]+)\}\}/g))
        expect([title, kept]).toContainEqual(expect.arrayContaining([label]));
    }
  });

  it.each([
    'darkroom_generations',
    'darkroom_oldest_generation_seconds',
    'darkroom_needs_operator',
    'darkroom_sweep_backlog',
    'darkroom_invariant_violations',
    'darkroom_paused',
    'darkroom_provider_call_seconds_bucket',
    'darkroom_callback_to_settled_seconds_bucket',
    'darkroom_settle_lag_seconds_bucket',
    'darkroom_request_duration_seconds_bucket',
    'darkroom_webhook_attempts_total',
    'temporal_worker_task_slots_available',
  ])('shows %s', (metric) => {
    expect(targets.flatMap(({ expr }) => selectorsOf(expr)).map(({ name }) => name)).toContain(metric);
  });
});

describe('what both name', () => {
  it('only metrics that API or worker has', () => {
    const types = new Set(
      [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
        type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name],
      ),
    );
    for (const { name: where, expression } of expressions)
      for (const { name } of ownOf(expression))
        expect([where, name, types.has(name)]).toEqual([where, name, true]);
  });

  it('only labels and values that they have', () => {
    for (const { name: where, expression } of expressions) {
      for (const { name, matchers } of ownOf(expression)) {
        const series = samples.filter((sample) => sample.name === name);
        for (const { label, values } of matchers) {
          const known = series.map(({ labels }) => labels[label]);
          expect([where, label, known.some((value) => value !== undefined)]).toEqual([where, label, true]);
          for (const value of values)
            expect([where, label, known]).toContainEqual(expect.arrayContaining([value]));
        }
      }
    }
  });

  it('groupings only by labels that their metrics have', () => {
    for (const { name: where, expression } of expressions) {
      if (ownOf(expression).length < selectorsOf(expression).length) continue;
      const labels = ownOf(expression).flatMap(({ name }) =>
        samples.filter((sample) => sample.name === name).flatMap((sample) => Object.keys(sample.labels)),
      );
      for (const label of groupingsOf(expression))
        expect([where, labels]).toContainEqual(expect.arrayContaining([label]));
    }
  });
});
