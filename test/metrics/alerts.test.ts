import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { apiMetrics, workerMetrics } from '../../src/metrics/index.ts';
import { countTakenCallback } from '../../src/metrics/callback-metrics.ts';
import { parseSamples, type Sample } from './samples.ts';

const text = readFileSync(new URL('../../docs/alerts.yml', import.meta.url), 'utf8');
/** The rules as text, one each. */
const rules = text.split(/^ {6}- alert: /m).slice(1);

let samples: Sample[];
beforeAll(async () => {
  const budget = { provider: 'infro', circuitOpenUntil: null, circuitTripped: false, budgetReached: true };
  const webhooks = { pending: 0, held: 0, failed: 0, oldestDueSeconds: 0 };
  const state = { ...budget, ...webhooks, waitingForCallback: 0, waitingForPoll: 0 };
  const db = { prisma: { $queryRaw: async () => [state] } } as unknown as Parameters<typeof apiMetrics>[0];
  countTakenCallback('infro', 'recorded', 1);
  const texts = await Promise.all([
    apiMetrics(db, ['infro']).render(),
    workerMetrics(db, ['infro']).render(),
  ]);
  samples = texts.flatMap(parseSamples);
});

/** Each `name{label="value",…}` of an expression. */
function selectors(rule: string) {
  const expression = /expr: (?:\|\n)?([\s\S]*?)\n {8}(?:for|labels):/.exec(rule)![1]!;
  return [...expression.matchAll(/\b(darkroom_[a-z_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', inside = '']) => ({
      name,
      matchers: [...inside.matchAll(/([a-z_]+)(=~?)"([^"]*)"/g)].map(([, label = '', , values = '']) => ({
        label,
        values: values.split('|'),
      })),
    }),
  );
}

describe('docs/alerts.yml', () => {
  it('has rules, each with severity, words and an expression over our metrics', () => {
    expect(rules.length).toBeGreaterThanOrEqual(8);
    for (const rule of rules) {
      expect(rule).toMatch(/^Darkroom[A-Za-z]+\n/);
      expect(rule).toMatch(/\n {8}labels: \{ severity: (warning|critical) \}\n/);
      expect(rule).toMatch(/\n {10}summary: '[^']+'\n {10}description: '[^']+'\n/);
      expect(selectors(rule).length).toBeGreaterThan(0);
    }
    const names = rules.map((rule) => rule.split('\n')[0]);
    expect(new Set(names).size).toBe(names.length);
  });

  it('names only metrics, labels and values that exist', () => {
    for (const rule of rules) {
      for (const { name, matchers } of selectors(rule)) {
        const series = samples.filter((sample) => sample.name === name);
        expect([name, series.length > 0]).toEqual([name, true]);
        for (const { label, values } of matchers) {
          const known = series.map(({ labels }) => labels[label]);
          for (const value of values)
            expect([name, label, known]).toContainEqual(expect.arrayContaining([value]));
        }
      }
    }
  });

  it('groups and words only by labels that the metrics have', () => {
    for (const rule of rules) {
      const labels = selectors(rule).flatMap(({ name }) =>
        samples.filter((sample) => sample.name === name).flatMap((sample) => Object.keys(sample.labels)),
      );
      const used = [
        ...[...rule.matchAll(/(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', ')),
        ...[...rule.matchAll(/\$labels\.([a-z_]+)/g)].map(([, label = '']) => label),
      ];
      for (const label of used) expect(labels).toContain(label);
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
  ])('watches %s', (_what, metric) => {
    expect(rules.flatMap(selectors).map(({ name }) => name)).toContain(metric);
  });
});
