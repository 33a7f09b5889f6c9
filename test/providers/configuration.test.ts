import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readProviders } from '../../src/providers/configuration.ts';
import { defineProvider } from '../../src/providers/definition.ts';
import { PROVIDERS } from '../../src/providers/index.ts';

const create = () => {
  throw new Error('not made here');
};
const definitions = [
  defineProvider({
    name: 'some-cloud',
    baseUrl: 'https://api.some.example',
    settings: { SIGNED: z.enum(['yes', 'no']).default('no') },
    webhookSecret: ({ SIGNED }) => (SIGNED === 'yes' ? 'required' : 'none'),
    create,
  }),
  defineProvider({
    name: 'plain',
    baseUrl: 'https://plain.example',
    settings: {},
    webhookSecret: 'none',
    create,
  }),
];
const read = (env: Record<string, string>) => readProviders(env, definitions);
const problems = (env: Record<string, string>) => read(env).problems;

describe('readProviders', () => {
  test('a provider without any API key is not configured', () => {
    expect(read({})).toEqual({ providers: new Map(), problems: [] });
    expect([...read({ PROVIDER_PLAIN_API_KEY: 'k' }).providers.keys()]).toEqual(['plain']);
  });

  test('a key for a provider that there is not is told, another program’s variable is left alone', () => {
    expect(problems({ PROVIDER_PLANE_API_KEY: 'k', PROVIDER_REGION: 'eu' })).toEqual([
      'PROVIDER_PLANE_API_KEY names no provider: correct the name, or remove it; there are some-cloud, plain',
    ]);
  });

  test('new submits a second: 10, or what the variable says', () => {
    const rate = (text?: string) => ({
      PROVIDER_PLAIN_API_KEY: 'k',
      ...(text === undefined ? {} : { PROVIDER_PLAIN_SUBMITS_PER_SECOND: text }),
    });
    const of = (env: Record<string, string>) => read(env).providers.get('plain')?.submitsPerSecond;
    expect([of(rate()), of(rate('1')), of(rate('9999'))]).toEqual([10, 1, 9_999]);
    for (const bad of ['', '0', '-1', '1.5', '10000', 'ten']) {
      expect(problems(rate(bad))).toEqual([
        'PROVIDER_PLAIN_SUBMITS_PER_SECOND must be a whole number from 1 to 9999',
      ]);
    }
    expect(problems({ PROVIDER_PLANE_SUBMITS_PER_SECOND: '5' })).toHaveLength(1);
  });

  test('credentials by name: the first is default, PROVIDER_…_CREDENTIAL says which is current', () => {
    const keys = { PROVIDER_SOME_CLOUD_API_KEY: 'k-1', PROVIDER_SOME_CLOUD_API_KEY_EU_2: 'k-2' };
    const first = { name: 'default', apiKey: 'k-1' };
    const second = { name: 'eu_2', apiKey: 'k-2' };
    const both = new Map([
      ['default', first],
      ['eu_2', second],
    ]);
    const of = (env: Record<string, string>) => read(env).providers.get('some-cloud');
    expect(of(keys)).toMatchObject({ credentials: both, current: first });
    for (const name of ['eu_2', 'EU_2']) {
      expect(of({ ...keys, PROVIDER_SOME_CLOUD_CREDENTIAL: name })).toMatchObject({ current: second });
    }
    const only = { PROVIDER_SOME_CLOUD_API_KEY_EU_2: 'k-2' };
    expect(problems(only)).toEqual([
      'PROVIDER_SOME_CLOUD_CREDENTIAL is not set: name one that has a key: eu_2',
    ]);
    expect(of({ ...only, PROVIDER_SOME_CLOUD_CREDENTIAL: 'eu_2' })?.current).toEqual(second);
  });

  test('address, secrets and own settings', () => {
    const env = {
      PROVIDER_SOME_CLOUD_API_KEY: 'k',
      PROVIDER_SOME_CLOUD_BASE_URL: 'http://127.0.0.1:9//',
      PROVIDER_SOME_CLOUD_WEBHOOK_SECRET: 'one, two',
      PROVIDER_SOME_CLOUD_SIGNED: 'yes',
    };
    expect(read(env).providers.get('some-cloud')).toMatchObject({
      baseUrl: 'http://127.0.0.1:9',
      webhookSecret: 'required',
      webhookSecrets: ['one', 'two'],
      settings: { SIGNED: 'yes' },
    });
    expect(read({ PROVIDER_SOME_CLOUD_API_KEY: 'k' }).providers.get('some-cloud')).toMatchObject({
      baseUrl: 'https://api.some.example',
      webhookSecret: 'none',
      webhookSecrets: [],
      settings: {},
    });
  });

  test.each([
    [{ PROVIDER_PLAIN_BASE_URL: 'ftp://hidden-host' }, /^PROVIDER_PLAIN_BASE_URL must be an http\(s\) URL/],
    [{ PROVIDER_PLAIN_API_KEY: ' ' }, /^PROVIDER_PLAIN_API_KEY is empty: set/],
    [{ PROVIDER_PLAIN_API_KEY: 'hidden key' }, /^PROVIDER_PLAIN_API_KEY must be visible ASCII/],
    [{ PROVIDER_PLAIN_API_KEYS: 'hidden' }, /^PROVIDER_PLAIN_API_KEYS ends in no credential name/],
    [{ PROVIDER_PLAIN_API_KEY_eu: 'hidden' }, /^PROVIDER_PLAIN_API_KEY_eu ends in no credential name/],
    [
      { PROVIDER_PLAIN_API_KEY: 'hidden', PROVIDER_PLAIN_API_KEY_DEFAULT: 'hidden' },
      /^PROVIDER_PLAIN_API_KEY_DEFAULT names the credential "default" a second time/,
    ],
    [
      { PROVIDER_PLAIN_API_KEY: 'hidden', PROVIDER_PLAIN_CREDENTIAL: 'us' },
      /^PROVIDER_PLAIN_CREDENTIAL names no credential with a key: name one that has a key: default/,
    ],
    [{ PROVIDER_PLAIN_CREDENTIAL: 'us' }, /^PROVIDER_PLAIN_CREDENTIAL .*set PROVIDER_PLAIN_API_KEY/],
    [{ PROVIDER_PLAIN_WEBHOOK_SECRET: 'hidden,' }, /^PROVIDER_PLAIN_WEBHOOK_SECRET has an empty secret/],
    [
      { PROVIDER_PLAIN_WEBHOK_SECRET: 'hidden' },
      /^PROVIDER_PLAIN_WEBHOK_SECRET is not known.*WEBHOOK_SECRET/,
    ],
    [{ PROVIDER_SOME_CLOUD_SIGNED: 'hidden' }, /^PROVIDER_SOME_CLOUD_SIGNED .*"yes"\|"no"/],
  ])('%o is told with what to do, without its value', (env, expected) => {
    const found = problems(env);
    expect(found).toEqual([expect.stringMatching(expected)]);
    expect(found.join()).not.toContain('hidden');
  });

  test('the real ones: each can be configured by a key alone, but for those without an address of their own', () => {
    const names = PROVIDERS.map(({ name }) => name);
    const env = Object.fromEntries(names.map((name) => [`PROVIDER_${name.toUpperCase()}_API_KEY`, 'k']));
    const homeless = { PROVIDER_OPENAIVIDEOS_BASE_URL: 'https://api.example.com' };
    const { providers, problems } = readProviders({ ...env, ...homeless }, PROVIDERS);
    expect(problems).toEqual([]);
    expect(readProviders(env, PROVIDERS).problems).toEqual([
      expect.stringMatching(/^PROVIDER_OPENAIVIDEOS_BASE_URL is not set: set it to the address/),
    ]);
    expect([...providers.keys()]).toEqual(names);
    // One word: a name that begins with another's would be taken for a variable of that one.
    for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9]*$/);
    for (const { baseUrl } of providers.values()) expect(baseUrl).toMatch(/^https:\/\/[a-z0-9.-]+$/);
  });
});
