import { createKlingProvider } from '../../src/providers/kling.ts';
import { klingSimulator } from '../../src/simulators/kling.ts';
import type { ProviderFixture } from './fixture.ts';
import { cancelRows, JOB, NOW_MS, observeRows, submitRows } from './kling-rows.ts';

/** A callback as Kling sends it. */
export const callbackBody = (id: string) =>
  `{"id":"${id}","status":"succeeded","message":"","create_time":1781080778802,"update_time":1781080794151}`;

/** Kling as it is by default: unsigned. */
export const klingFixture: ProviderFixture = {
  name: 'kling',
  create: (http, baseUrl, nowMs) => createKlingProvider({ http, baseUrl, nowMs }),
  nowMs: NOW_MS,
  simulator: klingSimulator,
  job: { method: 'text-to-video', providerModel: 'kling-3.0', params: { settings: { multi_shot: false } } },
  input: (prompt) => ({
    prompt,
    duration_seconds: 3,
    resolution: '720p',
    aspect_ratio: '16:9',
    audio: false,
  }),
  apiKey: 'key-of-kling',
  jobId: JOB,
  submitRows,
  observeRows,
  cancelRows,
  callbacks: {
    kind: 'unsigned',
    body: callbackBody,
    verdict: { eventId: null, type: 'task.succeeded', terminal: true, progress: null },
  },
  outputUrls: { own: 'https://p1-fdl.klingai.com/a.mp4', foreign: 'https://evil.example/a.mp4' },
};
