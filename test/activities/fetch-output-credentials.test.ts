import { describe, expect, it } from 'vitest';
import { matchesHosts } from '../../src/net/hosts.ts';
import { checkUrl } from '../../src/net/index.ts';
import { createProviders, PROVIDERS } from '../../src/providers/index.ts';
import type { OutboundHttp } from '../../src/net/types.ts';

const http: OutboundHttp = {
  request: () => Promise.reject(new Error('nothing is called here')),
  download: () => Promise.reject(new Error('nothing is called here')),
  close: () => Promise.resolve(),
};
const NAMES = PROVIDERS.map(({ name }) => name);
const all = createProviders({ http, providers: new Map(NAMES.map((name) => [name, {}])) });

/** The places from which outputs of a provider are fetched with its key, by what its documentation says. */
const WITH_KEY: Readonly<Record<string, readonly string[]>> = {
  infro: [],
  aigenway: ['https://api.aigenway.com'],
  crazyrouter: [],
  replicate: ['https://api.replicate.com', 'https://replicate.delivery', 'https://a.replicate.delivery'],
  fal: [],
  kling: [],
  runway: [],
  bfl: [],
  luma: [],
  veo: ['https://generativelanguage.googleapis.com'],
  openaivideos: ['https://aggregator.invalid'],
  minimax: [],
};

/** Every place that any of them has, and what resembles one. */
const ORIGINS = [
  ...new Set(
    PROVIDERS.flatMap(({ name, baseUrl }) => [
      new URL(baseUrl).origin,
      ...(all.get(name)?.outputHosts ?? []).map((host) => `https://${host.replace('*.', 'a.')}`),
    ]),
  ),
];
const RESEMBLING = ORIGINS.flatMap((origin) => [
  origin.replace('https:', 'http:'),
  `${origin}:8443`,
  `${origin}.evil.example`,
  origin.replace(/^https:\/\/(a\.)?/, 'https://evil-'),
]);
/** Others are never fetched from, whatever an adapter says. */
const REACHABLE = [...ORIGINS, ...RESEMBLING].filter((origin) => checkUrl(origin, []).ok);

describe('T33: the key of a download', () => {
  it('every provider is in the table', () => {
    expect(Object.keys(WITH_KEY).sort()).toEqual(NAMES.toSorted());
  });

  it.each(NAMES)('%s: goes where its documentation says, and nowhere else', (name) => {
    const provider = all.get(name)!;
    const credential = { name: 'main', apiKey: 'the key' };
    const told = REACHABLE.filter((origin) => {
      const headers = provider.downloadAuth(new URL(`${origin}/files/1.mp4`), credential);
      return JSON.stringify(headers).includes('the key');
    });
    expect(told.sort()).toEqual([...(WITH_KEY[name] ?? [])].sort());
    // A place that is never fetched from would need no key.
    for (const origin of told) expect(matchesHosts(new URL(origin), provider.outputHosts)).toBe(true);
  });
});
