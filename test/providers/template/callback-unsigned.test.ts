import { expect, test } from 'vitest';
import { verifyTidewaterCallback } from './callback-unsigned.ts';

// The template is a provider with signed callbacks; this is its other part.
test.each([
  ['{"id":"job_19","status":"failed"}', { ok: true, jobId: 'job_19', type: 'job.failed', terminal: true }],
  ['{"id":"job_19","status":"running"}', { ok: true, type: 'job.running', terminal: false }],
  ['{"status":"quota reached"}', { ok: true, jobId: null, type: 'job.unspecified', terminal: false }],
  ['{"id":"job_19"}', { ok: false, reason: 'malformed' }],
  ['<html>', { ok: false, reason: 'malformed' }],
])('an unsigned callback is a hint: %s', (body, verdict) => {
  expect(verifyTidewaterCallback({}, Buffer.from(body))).toMatchObject(verdict);
});
