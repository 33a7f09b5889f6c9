import { describe, expect, it } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { providerIdempotencyKey, SUBMISSION_ID, submissionId } from '../../src/domain/submission-id.ts';

const GENERATION = 'gen_01jdzzzzzz0000000000000000';

describe('submissionId', () => {
  it('is a function of the generation and the ordinal', () => {
    expect(submissionId(GENERATION, 1)).toBe('sub_01jdzzzzzz0000000000000000_1');
    expect(submissionId(GENERATION, 12)).toBe('sub_01jdzzzzzz0000000000000000_12');
    expect(SUBMISSION_ID.test(submissionId(newId('gen'), 3))).toBe(true);
  });

  it.each([
    'sub_01jdzzzzzz0000000000000000_0',
    'sub_01jdzzzzzz0000000000000000_01',
    'sub_01jdzzzzzz0000000000000000_10000',
    'sub_01jdzzzzzz0000000000000000',
    'sub_01jdzzzzzz000000000000000_1',
    'sub_01JDZZZZZZ0000000000000000_1',
    'sub_01jdzzzzzz000000000000000i_1',
    'gen_01jdzzzzzz0000000000000000_1',
    'sub_01jdzzzzzz0000000000000000_1\n',
    ' sub_01jdzzzzzz0000000000000000_1',
  ])('%j is none', (text) => {
    expect(SUBMISSION_ID.test(text)).toBe(false);
  });
});

describe('providerIdempotencyKey', () => {
  it('is the UUIDv5 that another implementation makes (Python, uuid.uuid5)', () => {
    expect(providerIdempotencyKey('sub_01jdzzzzzz0000000000000000_1')).toBe(
      'd179b267-f75a-5ac2-8395-a03413bf2efd',
    );
    expect(providerIdempotencyKey('sub_01jdzzzzzz0000000000000000_2')).toBe(
      'ed5e7933-a392-530e-98bf-e6fecdd7b8c3',
    );
  });
});
