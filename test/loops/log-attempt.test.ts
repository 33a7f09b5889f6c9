import { describe, expect, it } from 'vitest';
import { createLogger } from '../../src/log.ts';
import { logAttempt } from '../../src/loops/log-attempt.ts';
import type { AttemptReport } from '../../src/services/deliver-webhook.ts';

const DELIVERED: AttemptReport = {
  deliveryId: 7,
  endpointId: 'whe_1',
  generationId: null,
  attempt: 2,
  durationMs: 12,
  outcome: 'delivered',
  status: 204,
  problem: null,
  state: 'delivered',
  disabled: null,
  secretsLost: 0,
};
const FAILED: AttemptReport = { ...DELIVERED, outcome: 'failed', problem: 'http_status', state: 'pending' };

function logged(report: AttemptReport) {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>);
  logAttempt(createLogger('info', 'worker', { destination: { write } }), report);
  return lines;
}
const [WARN, ERROR] = [40, 50];

describe('what is said of an attempt', () => {
  it.each([
    ['a success', DELIVERED],
    ['a 500', { ...FAILED, status: 500 }],
    ['a 429', { ...FAILED, status: 429 }],
    ['a redirect', { ...FAILED, status: 301, problem: 'redirect' as const }],
    ['a dead receiver', { ...FAILED, status: null, problem: 'unreachable' as const }],
  ])('nothing of %s', (_name, report) => {
    expect(logged(report)).toEqual([]);
  });

  it.each([400, 401, 403, 404, 408, 422])('%i: a warning at once, with the endpoint', (status) => {
    expect(logged({ ...FAILED, status })).toMatchObject([
      { level: WARN, endpoint: 'whe_1', delivery: 7, attempt: 2, status, msg: 'a webhook receiver refuses' },
    ]);
  });

  it.each([
    ['gone', { ...FAILED, outcome: 'gone' as const, status: 410, problem: 'gone' as const }],
    ['failing', { ...FAILED, status: 500 }],
  ] as const)('that it disabled the endpoint (%s)', (reason, report) => {
    expect(logged({ ...report, state: 'held', disabled: reason })).toMatchObject([
      { level: WARN, endpoint: 'whe_1', reason, msg: 'a webhook endpoint was disabled' },
    ]);
  });

  it('that it was the last one', () => {
    expect(logged({ ...FAILED, status: 500, state: 'failed', endpointId: null })).toMatchObject([
      { level: WARN, endpoint: null, msg: 'a webhook was given up after its last attempt' },
    ]);
  });

  it('an error for a secret that is lost, missing, or a body that can not be made', () => {
    const unsigned = { ...FAILED, status: null, problem: 'secret_unavailable' as const };
    expect(logged({ ...unsigned, secretsLost: 1 })).toMatchObject([{ level: ERROR, endpoint: 'whe_1' }]);
    expect(logged({ ...unsigned, secretsLost: 1 })[0]!['msg']).toContain('put its key back into KEYRING');
    expect(logged({ ...DELIVERED, secretsLost: 1 })).toMatchObject([{ level: ERROR }]);
    expect(logged(unsigned)).toMatchObject([
      { level: ERROR, msg: 'a webhook has no secret to be signed with' },
    ]);
    expect(logged({ ...unsigned, problem: 'body_unavailable' })).toMatchObject([{ level: ERROR }]);
  });
});
