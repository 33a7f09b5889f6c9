import { describe, expect, it } from 'vitest';
import { viewGeneration, type GenerationFacts } from '../../src/domain/generation-view.ts';
import { isVideoMethod, videoFactsSchema, videoSchema, viewVideo } from '../../src/domain/video-view.ts';

const FACTS: GenerationFacts = {
  id: 'gen_06f1m4k2h8v7x9q3w5y1z0a2b4',
  account: 'default',
  state: 'running',
  stage: 'waiting',
  progress: 0.429,
  model: 'cinema-video',
  provider: null,
  input: { prompt: 'a cat', duration_seconds: 8, resolution: '720p', aspect_ratio: '9:16' },
  metadata: {},
  creditsHeld: 10,
  creditsCaptured: 0,
  creditsRefunded: 0,
  holdOpen: true,
  delivery: 'pending',
  cancellation: null,
  errorCode: null,
  outputs: [],
  createdAt: '2026-11-29T12:00:00.999Z',
  updatedAt: '2026-11-29T12:00:01.000Z',
  startedAt: null,
  completedAt: null,
  deadlineAt: '2026-11-29T12:15:00.000Z',
  expectedDurationSeconds: 60,
};
const FILE = {
  index: 0,
  mediaType: 'video/mp4',
  bytes: 1,
  sha256: 'a',
  width: 704,
  height: 1_280,
  durationSeconds: 8.04,
  expiresAt: '2026-12-29T12:03:00.000Z',
  link: null,
};
const view = (over: Partial<GenerationFacts>) => viewVideo(viewGeneration({ ...FACTS, ...over }));

describe('viewVideo', () => {
  it('shows one that runs by what was asked for', () => {
    expect(view({})).toEqual({
      id: FACTS.id,
      object: 'video',
      model: 'cinema-video',
      status: 'in_progress',
      progress: 42,
      created_at: 1_795_953_600,
      completed_at: null,
      expires_at: null,
      seconds: '8',
      size: '720x1280',
      prompt: 'a cat',
      error: null,
      remixed_from_video_id: null,
    });
  });

  it('shows a finished one by its file', () => {
    const done = { state: 'succeeded', stage: 'done', completedAt: '2026-11-29T12:03:00.000Z' } as const;
    expect(view({ ...done, outputs: [FILE] })).toMatchObject({
      status: 'completed',
      progress: 100,
      completed_at: 1_795_953_780,
      expires_at: 1_798_545_780,
      seconds: '8',
      size: '704x1280',
    });
    expect(view({ ...done, input: {}, outputs: [FILE] })).toMatchObject({
      seconds: '8',
      size: '704x1280',
      prompt: null,
    });
    const bare = { ...FILE, width: null, durationSeconds: null, expiresAt: null };
    expect(view({ ...done, outputs: [bare] })).toMatchObject({ size: '720x1280', expires_at: null });
    expect(view({ ...done, outputs: [{ ...FILE, height: null }] })).toMatchObject({ size: '720x1280' });
    expect(view({ ...done, input: {}, outputs: [bare] })).toMatchObject({ seconds: null, size: null });
  });

  it('calls every other end failed, with a reason', () => {
    expect(view({ state: 'failed', errorCode: 'content_rejected' })).toMatchObject({
      status: 'failed',
      progress: 42,
      error: { code: 'content_rejected', message: expect.stringContaining('moderation') },
    });
    expect(view({ state: 'expired', errorCode: 'deadline_exceeded' }).error?.code).toBe('deadline_exceeded');
    expect(view({ state: 'cancelled' })).toMatchObject({ status: 'failed', error: { code: 'cancelled' } });
  });

  it('has no progress before there is any', () => {
    expect(view({ state: 'queued', progress: null })).toMatchObject({ status: 'queued', progress: 0 });
  });

  it('is made of these facts alone, whatever else is beside them', () => {
    const generation = viewGeneration({ ...FACTS, outputs: [FILE], errorCode: 'content_rejected' });
    const facts = videoFactsSchema.parse({ ...generation, of_later: true });
    expect(viewVideo(facts)).toEqual(viewVideo(generation));
    expect(Object.keys(facts)).not.toContain('poll_url');
  });

  it('is what its schema says', () => {
    expect(() => videoSchema.parse(view({ outputs: [FILE] }))).not.toThrow();
  });
});

it('only methods that make videos are videos', () => {
  expect(
    (['text-to-video', 'image-to-video', 'text-to-image', 'text-to-speech'] as const).filter(isVideoMethod),
  ).toEqual(['text-to-video', 'image-to-video']);
});
