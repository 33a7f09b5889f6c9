import { describe, expect, it } from 'vitest';
import { adviceFor, OVERDUE_AFTER_MS, type AdviceFacts } from '../../src/domain/operator-advice.ts';

const GEN = 'gen_01';
const SUB = 'sub_01_1';
const FACTS: AdviceFacts = {
  generationId: GEN,
  stage: 'waiting',
  operatorReason: null,
  provider: 'infro',
  problem: null,
  submissionId: SUB,
};
const WAKE = `npx darkroom generation wake ${GEN}`;
const OBSERVE = `npx darkroom generation observe ${GEN} --reason "…"`;
const RETRY = `npx darkroom generation retry-storing ${GEN} --reason "…"`;
const ATTACH = `npx darkroom submission attach ${SUB} --job JOB --reason "…"`;
const PROVIDERS = 'npx darkroom providers';
const parked = (operatorReason: string | null) => ({ stage: 'needs_operator', operatorReason }) as const;

describe('adviceFor', () => {
  it.each<[string, Partial<AdviceFacts>, string | null, RegExp]>([
    ['ended', { stage: 'done', problem: 'http_401', overdueMs: 1e9 }, null, /^It has ended/],
    ['denied at the end', parked('provider_access_denied'), OBSERVE, /PROVIDER_INFRO_API_KEY or the account/],
    ['an unknown provider', parked('unknown_provider'), WAKE, /No worker knows infro: set PROVIDER_INFRO_/],
    ['an unknown credential', parked('unknown_credential'), WAKE, /bring it back \(PROVIDER_INFRO_API_KEY/],
    ['a job of another', parked('job_taken'), ATTACH, /belongs to another submission/],
    [
      'an unreadable plan',
      parked('unreadable_plan'),
      `npx darkroom generation resolve ${GEN} --state failed --reason "…" --dry-run`,
      /then end it/,
    ],
    ['a broken step', parked('step_failed'), WAKE, /"step broken" and gen_01 in the worker's log/],
    ['a reason that is new', parked('something_new'), WAKE, /step broken/],
    ['parked and overdue', { ...parked('job_taken'), overdueMs: 1e9 }, ATTACH, /belongs to another/],
    ['overdue', { overdueMs: OVERDUE_AFTER_MS + 1 }, WAKE, /have written 1 minute ago: check that a worker/],
    ['long overdue', { stage: 'storing', problem: 'scan_error', overdueMs: 600_000 }, WAKE, /10 minutes ago/],
    ['late by moments', { overdueMs: OVERDUE_AFTER_MS }, null, /^Nothing is to be done/],
    [
      'unknown, replay',
      { stage: 'submission_unknown', idempotency: 'replay' },
      PROVIDERS,
      /no second job: wait/,
    ],
    ['unknown, lookup', { stage: 'submission_unknown', idempotency: 'lookup' }, PROVIDERS, /by our id/],
    [
      'unknown, list',
      { stage: 'submission_unknown', idempotency: 'none', listed: true },
      ATTACH,
      /list is sear/,
    ],
    [
      'queued, unmoved',
      { stage: 'queued', unmovedMs: 150_000 },
      WAKE,
      /nothing has moved for 2 min: check that a worker/,
    ],
    [
      'queued just now',
      { stage: 'queued', unmovedMs: OVERDUE_AFTER_MS },
      null,
      /submitted as soon as it can be/,
    ],
    [
      'refused for now',
      { stage: 'queued', unmovedMs: 1e9, problem: 'http_429' },
      null,
      /submitted as soon as it can be/,
    ],
    ['unknown, nothing', { stage: 'submission_unknown', idempotency: 'none' }, ATTACH, /Only a callback/],
    [
      'unknown, wrongly named',
      { stage: 'submission_unknown', idempotency: 'none', problem: 'named_job_not_found' },
      ATTACH,
      /^infro knows no job of the id that was named.*submission not-accepted sub_01_1"/,
    ],
    [
      'unknown, of which a run knows little',
      { stage: 'submission_unknown', submissionId: null },
      'npx darkroom submission attach SUB --job JOB --reason "…"',
      /never sent twice.*submission not-accepted/,
    ],
    ['storing', { stage: 'storing' }, null, /^Nothing is to be done: its outputs/],
    ['no space', { stage: 'storing', problem: 'storage_full' }, RETRY, /make space below STORAGE_URL/],
    [
      'storage away',
      { stage: 'storing', problem: 'storage_unavailable' },
      RETRY,
      /check STORAGE_URL, its ri/,
    ],
    [
      'scanner away',
      { stage: 'storing', problem: 'scan_timeout' },
      RETRY,
      /\(scan_timeout\): check SCAN_COMMAND/,
    ],
    ['a dead link', { stage: 'storing', problem: 'link_403' }, RETRY, /downloaded from infro \(link_403\)/],
    ['queued', { stage: 'queued' }, null, /submitted as soon as it can be/],
    [
      'paused',
      { stage: 'queued', pause: { kind: 'model', target: 'infro-video' }, closed: 'circuit_open' },
      'npx darkroom resume model infro-video --reason "…"',
      /submits of model infro-video are paused/,
    ],
    [
      'paused, told by the run',
      { stage: 'queued', problem: 'provider_paused' },
      'npx darkroom resume provider infro --reason "…"',
      /submits of provider infro are paused/,
    ],
    [
      'model paused',
      { stage: 'queued', problem: 'model_paused' },
      'npx darkroom pause list',
      /its model are/,
    ],
    [
      'tenant paused',
      { stage: 'queued', problem: 'tenant_paused' },
      'npx darkroom pause list',
      /its tenant are/,
    ],
    ['circuit', { stage: 'queued', closed: 'circuit_open', pause: null }, PROVIDERS, /one at a time tries/],
    ['circuit, told by the run', { stage: 'queued', problem: 'circuit_open' }, PROVIDERS, /one at a time/],
    [
      'budget',
      { stage: 'submitting', closed: 'daily_budget' },
      'npx darkroom budget show',
      /until midnight UTC/,
    ],
    ['a submit denied', { stage: 'submitting', problem: 'http_402' }, WAKE, /refuses our key \(http_402\)/],
    ['a look denied', { problem: 'http_403' }, OBSERVE, /refuses our key \(http_403\)/],
    ['a look that failed', { problem: 'http_500' }, null, /^Nothing is to be done: its run/],
    ['settling', { stage: 'settling', problem: 'http_401' }, null, /^Nothing is to be done: its run/],
  ])('%s', (_name, change, command, what) => {
    const advice = adviceFor({ ...FACTS, ...change });
    expect(advice.command).toBe(command);
    expect(advice.what).toMatch(what);
  });
});
