import { describe, expect, it } from 'vitest';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import { checkUrl } from '../../src/net/index.ts';
import { priceRequest } from '../../src/services/price-request.ts';

const price = (body: JsonObject) =>
  priceRequest({ catalogue: DEFAULT_CATALOGUE, checkUrl: (url) => checkUrl(url, []).ok }, body);
const cinema = (over: JsonObject = {}, input: JsonObject = {}) =>
  price({ model: 'cinema-video', input: { prompt: 'a cat', ...input }, ...over });

/** The refused fields by their JSON pointers. */
function wrong(answer: ReturnType<typeof price>): string[] {
  return answer.outcome === 'invalid' ? answer.errors.map(({ path }) => path) : [];
}

describe('priceRequest', () => {
  it('prices the input with its defaults, on all routes of the model', () => {
    expect(cinema()).toMatchObject({
      outcome: 'ok',
      model: { id: 'cinema-video' },
      input: {
        prompt: 'a cat',
        duration_seconds: 8,
        resolution: '720p',
        aspect_ratio: '16:9',
        audio: false,
      },
      price: { credits: 320, creditsPerOutput: 320, outputs: 1 },
      routes: [{ provider: 'kling' }, { provider: 'fal' }],
      request: { account: 'default', deadline_seconds: 1_800, metadata: {} },
    });
  });

  it('prices what was chosen', () => {
    expect(cinema({}, { duration_seconds: 8, resolution: '1080p', audio: true })).toMatchObject({
      price: { credits: 720 },
    });
    expect(price({ model: 'quick-image', input: { prompt: 'a cat', count: 4 } })).toMatchObject({
      price: { credits: 12, creditsPerOutput: 3, outputs: 4 },
    });
  });

  it('leaves out of the input what the provider shall choose', () => {
    expect(price({ model: 'quick-image', input: { prompt: 'a cat' } })).toMatchObject({
      outcome: 'ok',
      input: { prompt: 'a cat', aspect_ratio: '1:1', count: 1 },
    });
    expect(price({ model: 'quick-image', input: { prompt: 'a cat' } })).not.toHaveProperty('input.seed');
  });

  it('keeps to the provider that was named, in the order of the model', () => {
    const { routes } = cinema({ provider: 'fal' }) as { routes: readonly { provider: string }[] };
    expect(routes.map(({ provider }) => provider)).toEqual(['fal']);
    expect(wrong(cinema({ provider: 'infro' }))).toEqual(['/provider']);
  });

  it.each(['nothing', '', 'CINEMA-VIDEO', '__proto__'])('does not know a model %j', (model) => {
    expect(price({ model, input: {} })).toEqual({ outcome: 'unknown_model' });
  });

  it('names every wrong field, also without a model', () => {
    expect(wrong(cinema({ deadline_seconds: 0, colour: 1 }, { duration_seconds: 7, prompt: '' }))).toEqual([
      '/input/prompt',
      '/input/duration_seconds',
      '/deadline_seconds',
      '/colour',
    ]);
    expect(wrong(price({ input: { prompt: 5 }, colour: 1 }))).toEqual(['/model', '/input/prompt', '/colour']);
    expect(wrong(price({ model: 5, input: { prompt: 'a cat' } }))).toEqual(['/model']);
    expect(wrong(price({}))).toEqual(['/model', '/input']);
  });

  it.each([2 ** 53, -5, 0, 1.5, Number.NaN, '5', null, 1_000_000_000])('seconds are never %s', (value) => {
    expect(new Set(wrong(cinema({}, { duration_seconds: value })))).toEqual(
      new Set(['/input/duration_seconds']),
    );
  });
});

it('priceRequest knows no model where there is none to sell', () => {
  expect(
    priceRequest({ catalogue: { models: [] }, checkUrl: () => true }, { model: 'infro-video', input: {} }),
  ).toEqual({
    outcome: 'unknown_model',
  });
  expect(priceRequest({ catalogue: { models: [] }, checkUrl: () => true }, { input: {} })).toEqual({
    outcome: 'unknown_model',
  });
});

describe('priceRequest: URLs that can be seen to be wrong', () => {
  const animate = (image_url: string, more: JsonObject = {}) =>
    price({ model: 'animate-image', input: { prompt: 'waves', image_url }, ...more });
  const pathsOf = (priced: ReturnType<typeof price>) =>
    priced.outcome === 'invalid' ? priced.errors.map(({ path }) => path) : priced.outcome;

  it.each([
    'https://example.com/boat.png?size=2#part',
    'https://8.8.8.8/boat.png',
    'inp_06f1m4k2h8v7x9q3w5y1z0a2b4',
  ])('%s may name an image', (url) => {
    expect(animate(url)).toMatchObject({ outcome: 'ok', input: { image_url: url } });
  });

  it.each([
    'http://example.com/boat.png',
    'https://example.com:8443/boat.png',
    'https://127.0.0.1/boat.png',
    'https://[::1]/boat.png',
    'https://localhost/boat.png',
    'https://user@example.com/boat.png',
    'https://example.com\\@localhost/',
    ' https://example.com/\tboat.png',
    'file:///etc/passwd',
    'inp_06f1m4k2h8v7x9q3w5y1z0a2b',
  ])('%j may not', (url) => {
    expect(pathsOf(animate(url))).toEqual(['/input/image_url']);
  });

  it('callback_url: only what can be called, and no fragment', () => {
    const image = 'https://example.com/boat.png';
    expect(animate(image, { callback_url: 'https://example.com/hook?a=1' })).toMatchObject({ outcome: 'ok' });
    for (const callback_url of [
      'http://example.com/',
      'https://10.0.0.1/',
      'https://example.com/#a',
      'here',
    ]) {
      expect(pathsOf(animate(image, { callback_url }))).toEqual(['/callback_url']);
    }
    const long = `https://example.com/${'a'.repeat(2_029)}`;
    expect(long).toHaveLength(2_049);
    expect(pathsOf(animate(image, { callback_url: long }))).toEqual(['/callback_url']);
    expect(animate(image, { callback_url: long.slice(0, -1) })).toMatchObject({ outcome: 'ok' });
  });
});
