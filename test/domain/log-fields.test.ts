import { describe, expect, it } from 'vitest';
import { allowedFields, UNFIT, type LOG_FIELDS, type LogFields } from '../../src/domain/log-fields.ts';
import { safeError } from '../../src/domain/safe-error.ts';
import { traceIdOf } from '../../src/domain/trace-id.ts';
import { createLogger } from '../../src/log.ts';

const GENERATION = 'gen_01jbrc3r00fay8vvr14d2pf2db';

/** What one line holds, and how many fields were told to be dropped. */
function logged(fields: object, message = 'text') {
  const lines: Record<string, unknown>[] = [];
  let dropped = 0;
  const log = createLogger('info', 'api', {
    destination: { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) },
    onDropped: (count) => {
      dropped += count;
    },
  });
  log.info(fields as LogFields, message);
  expect(lines).toHaveLength(1);
  return { line: lines[0]!, dropped };
}

describe('what a log line may hold', () => {
  it('fields that are known, with values of their shape', () => {
    const fields = {
      request_id: 'req_1.a-B',
      method: 'GET',
      route: '/v1/generations/{id}',
      status: 200,
      ms: 0,
      tenant: null,
      problem: 'still running',
      queues: ['generations', 'submit:infro'],
      error: safeError(new TypeError('secret text')),
    };
    const { line, dropped } = logged(fields);
    expect(line).toEqual({ ...fields, level: 30, time: expect.any(String), service: 'api', msg: 'text' });
    expect(dropped).toBe(0);
    expect(JSON.stringify(line)).not.toContain('secret text');
  });

  it.each<[string, object, string]>([
    ['an unknown field', { prompt: 'CANARY' }, 'prompt'],
    ['headers', { headers: { authorization: 'Bearer CANARY' } }, 'headers'],
    ['an Error as it is', { err: new Error('CANARY') }, 'err'],
    ['a name that is data', { 'https://x/?key=CANARY': 1 }, UNFIT],
    ['an own member of objects', { constructor: 'CANARY' }, 'constructor'],
  ])('%s is left out, and told of', (_what, fields, name) => {
    const { line, dropped } = logged({ ...fields, status: 200 });
    expect(line).toMatchObject({ status: 200, dropped: [name] });
    expect(dropped).toBe(1);
    expect(JSON.stringify(line)).not.toContain('CANARY');
  });

  it.each<[keyof typeof LOG_FIELDS, unknown]>([
    ['request_id', 'two words'],
    ['request_id', 'x'.repeat(129)],
    ['tenant', { toString: () => 'CANARY' }],
    ['status', 'CANARY'],
    ['status', Number.NaN],
    ['status', '200'],
    ['route', '/v1/generations?key=CANARY'],
    ['path', 'a b'],
    ['problem', 'https://host/x?key=CANARY'],
    ['reason', 'CANARY='],
    ['advice', 'x'.repeat(257)],
    ['provider_status', 'sk-proj-4f9aCANARY'],
    ['provider_status', '4096'],
    ['queues', ['generations', 'CANARY?']],
    ['queues', Array.from({ length: 65 }, () => 'q')],
    ['error', new Error('CANARY')],
    ['error', { name: 'Error', at: [], message: 'CANARY' }],
    ['error', { name: 'Error', at: ['CANARY'] }],
    ['error', { name: 'Error', at: 'CANARY' }],
    ['error', { name: 'Error CANARY', at: [] }],
    ['trace_id', true],
  ])('%s has not the shape of %j', (field, value) => {
    const { line, dropped } = logged({ [field]: value });
    expect(line).toMatchObject({ [field]: UNFIT, dropped: [field] });
    expect(dropped).toBe(1);
    expect(JSON.stringify(line)).not.toContain('CANARY');
  });

  it.each(['IN_QUEUE', 'succeed', 'not-found', '99'])('a status string of a provider: %s', (status) => {
    expect(allowedFields({ provider_status: status })).toEqual({
      fields: { provider_status: status },
      dropped: [],
    });
  });

  it('nothing of an undefined value', () => {
    expect(allowedFields({ state: undefined, prompt: undefined })).toEqual({ fields: {}, dropped: [] });
  });
});

describe('a line about a generation', () => {
  it.each([{ generation: GENERATION }, { submission: 'sub_01jbrc3r00fay8vvr14d2pf2db_2' }])(
    'has its trace id: %j',
    (fields) => {
      expect(logged(fields).line).toMatchObject({ ...fields, trace_id: traceIdOf(GENERATION) });
    },
  );

  it('and none that is about no generation', () => {
    expect(logged({ generation: null }).line).not.toHaveProperty('trace_id');
    expect(logged({ generation: 'gen_unreadable' }).line).not.toHaveProperty('trace_id');
  });
});
