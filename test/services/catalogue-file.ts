import { parseCatalogue } from '../../src/services/load-catalogue.ts';

/** One model of a catalogue file, as someone writes it. */
export type WrittenModel = Record<string, unknown> & { input: Record<string, unknown> };

/** A model without a fault: two choices, a flag, seconds and a price for each resolution. */
export function writtenModel(over: Record<string, unknown> = {}): WrittenModel {
  return {
    id: 'my-video',
    title: 'My video',
    method: 'text-to-video',
    routes: [{ provider: 'infro', providerModel: 'm-video' }],
    input: {
      prompt: {},
      duration_seconds: { min: 1, max: 15, default: 5 },
      resolution: { values: ['720p', '1080p'], default: '720p' },
      audio: { default: false },
    },
    price: {
      per: 'second',
      rates: [
        { when: { resolution: '720p' }, millicredits: 20_000 },
        { when: { resolution: '1080p' }, millicredits: 30_000 },
      ],
    },
    expectedDurationSeconds: 60,
    deadlineSeconds: { default: 900, max: 3_600 },
    ...over,
  };
}

/** The text of a file with these models, one member a line. */
export function fileOf(...models: object[]): string {
  return JSON.stringify({ models }, null, 2);
}

export function problemsIn(text: string): readonly string[] {
  const loaded = parseCatalogue(text, 'models.json');
  return 'problems' in loaded ? loaded.problems : [];
}
