import { describe, expect, it } from 'vitest';
import { catalogueSchema } from '../../src/domain/catalogue.ts';
import { findUnservedRoutes } from '../../src/services/check-catalogue.ts';
import { writtenModel } from './catalogue-file.ts';

describe('findUnservedRoutes', () => {
  const providers = new Map([
    [
      'infro',
      { methods: { 'text-to-video': ['prompt', 'duration_seconds', 'resolution', 'audio'] } as const },
    ],
    [
      'kling',
      { methods: { 'text-to-video': ['prompt', 'duration_seconds'], 'text-to-image': ['prompt'] } as const },
    ],
  ]);
  const served = (...models: object[]) =>
    findUnservedRoutes(catalogueSchema.parse({ models }), providers).map(({ path, problem }) => [
      path.join('.'),
      problem,
    ]);
  const by = (...names: string[]) => ({
    routes: names.map((provider) => ({ provider, providerModel: 'm' })),
  });

  it('none when every route has its provider, its method and its fields', () => {
    expect(served(writtenModel())).toEqual([]);
  });

  it('a provider that nobody knows', () => {
    expect(served(writtenModel(), writtenModel(by('infro', 'kaling')))).toEqual([
      ['models.1.routes.1.provider', '"kaling" is no provider; use one of infro, kling'],
    ]);
  });

  it('a method that the provider does not offer', () => {
    expect(served(writtenModel({ method: 'text-to-image', ...by('infro') }))).toEqual([
      ['models.0.routes.0.provider', 'infro does not offer text-to-image'],
    ]);
  });

  it('each input field that the provider cannot take', () => {
    expect(served(writtenModel(by('infro', 'kling')))).toEqual([
      [
        'models.0.input.resolution',
        'kling takes no "resolution" for text-to-video: remove the field or the route',
      ],
      ['models.0.input.audio', 'kling takes no "audio" for text-to-video: remove the field or the route'],
    ]);
  });
});
