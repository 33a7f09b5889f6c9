import { describe, expect, it } from 'vitest';
import { GENERATION_ERRORS, type GenerationErrorCode } from '../../src/domain/errors.ts';
import {
  generationPath,
  generationSchema,
  viewGeneration,
  type GenerationFacts,
} from '../../src/domain/generation-view.ts';

const ID = 'gen_06f1m4k2h8v7x9q3w5y1z0a2b4';
const at = (second: number) => `2026-11-29T12:00:0${second}.000Z`;
const facts: GenerationFacts = {
  id: ID,
  account: 'user-1',
  state: 'running',
  stage: 'waiting',
  progress: 0.25,
  model: 'infro-video',
  provider: null,
  input: { prompt: 'a cat', duration_seconds: 5 },
  metadata: { order: 'A-1' },
  creditsHeld: 100,
  creditsCaptured: 0,
  creditsRefunded: 0,
  holdOpen: true,
  delivery: 'pending',
  cancellation: null,
  errorCode: null,
  outputs: [],
  createdAt: at(0),
  updatedAt: at(1),
  startedAt: at(2),
  completedAt: null,
  deadlineAt: at(4),
  expectedDurationSeconds: 60,
};

describe('viewGeneration', () => {
  it('shows these fields and no other', () => {
    expect(viewGeneration(facts)).toEqual({
      id: ID,
      object: 'generation',
      account: 'user-1',
      state: 'running',
      stage: 'waiting',
      progress: 0.25,
      model: 'infro-video',
      provider: null,
      input: { prompt: 'a cat', duration_seconds: 5 },
      metadata: { order: 'A-1' },
      credits: { held: 100, captured: 0, released: 0, refunded: 0 },
      delivery: 'pending',
      cancellation: null,
      error: null,
      outputs: [],
      created_at: at(0),
      updated_at: at(1),
      started_at: at(2),
      completed_at: null,
      deadline_at: at(4),
      estimated_duration_seconds: 60,
      poll_url: `/v1/generations/${ID}`,
    });
    expect(generationPath(ID)).toBe(`/v1/generations/${ID}`);
  });

  it.each([
    ['held', { holdOpen: true }, { held: 100, captured: 0, released: 0, refunded: 0 }],
    ['released', { holdOpen: false }, { held: 0, captured: 0, released: 100, refunded: 0 }],
    [
      'captured in part',
      { holdOpen: false, creditsCaptured: 75 },
      { held: 0, captured: 75, released: 25, refunded: 0 },
    ],
    [
      'captured and refunded in part',
      { holdOpen: false, creditsCaptured: 100, creditsRefunded: 30 },
      { held: 0, captured: 100, released: 0, refunded: 30 },
    ],
  ])('credits that are %s', (_name, over, credits) => {
    expect(viewGeneration({ ...facts, ...over }).credits).toEqual(credits);
  });

  it.each(Object.entries(GENERATION_ERRORS))('the error %s with its own words', (code, error) => {
    const view = viewGeneration({ ...facts, errorCode: code as GenerationErrorCode });
    expect(view.error).toEqual({ code, ...error });
  });

  it('an output with its facts and its link, without a seed so far', () => {
    const output = {
      index: 1,
      mediaType: 'video/mp4',
      bytes: 1_000,
      sha256: 'ab'.repeat(32),
      width: 640,
      height: 360,
      durationSeconds: 5.04,
      expiresAt: at(9),
      link: { url: '/files/x', expiresAt: at(3) },
    };
    expect(viewGeneration({ ...facts, outputs: [output] }).outputs).toEqual([
      {
        index: 1,
        url: '/files/x',
        url_expires_at: at(3),
        expires_at: at(9),
        media_type: 'video/mp4',
        bytes: 1_000,
        sha256: 'ab'.repeat(32),
        width: 640,
        height: 360,
        duration_seconds: 5.04,
        seed: null,
      },
    ]);
    expect(viewGeneration({ ...facts, outputs: [{ ...output, link: null }] }).outputs).toMatchObject([
      { index: 1, url: null, url_expires_at: null, expires_at: at(9), sha256: 'ab'.repeat(32) },
    ]);
  });

  it('keeps to its own schema, at the start and at the end', () => {
    const ended = viewGeneration({
      ...facts,
      state: 'cancelled',
      stage: 'done',
      provider: 'kling',
      holdOpen: false,
      delivery: 'failed',
      cancellation: { requested_by: 'tenant', requested_at: at(3), outcome: 'confirmed' },
      completedAt: at(5),
    });
    expect(generationSchema.parse(ended)).toEqual(ended);
    expect(generationSchema.parse(viewGeneration(facts))).toEqual(viewGeneration(facts));
    expect(generationSchema.safeParse({ ...ended, created_at: '2026-11-29T12:00:00Z' }).success).toBe(false);
  });
});
