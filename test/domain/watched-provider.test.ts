import { expect, it } from 'vitest';
import type { Provider } from '../../src/domain/provider.ts';
import { allAround, PROVIDER_CALLS, watchedProvider } from '../../src/domain/watched-provider.ts';
import type { AroundCall } from '../../src/domain/watched-provider.ts';

const answer = (name: string) => (first: unknown) => Promise.resolve(`${name} ${String(first)}`);
const ALL = ['submit', 'observe', 'cancel', 'observeMany', 'list', 'find'] as const;

function providerWith(methods: readonly string[]): Provider {
  const calls = Object.fromEntries(methods.map((name) => [name, answer(name)]));
  return { name: 'infro', outputHosts: ['cdn.test'], ...calls } as unknown as Provider;
}

function watching(): { readonly told: string[]; readonly around: AroundCall } {
  const told: string[] = [];
  return {
    told,
    around: async (provider, call, run) => {
      told.push(`before ${provider} ${call}`);
      const given = await run();
      told.push(`after ${provider} ${call}`);
      return given;
    },
  };
}

it('each call goes through the wrapper and gives what it gave; several looks at once are looks', async () => {
  const { told, around } = watching();
  const watched = watchedProvider(providerWith(ALL), around) as unknown as Record<
    string,
    (first: string) => Promise<string>
  >;
  for (const name of ALL) expect(await watched[name]!('job-1')).toBe(`${name} job-1`);
  const calls = ['submit', 'observe', 'cancel', 'observe', 'list', 'find'];
  expect(told).toEqual(calls.flatMap((call) => [`before infro ${call}`, `after infro ${call}`]));
  expect(PROVIDER_CALLS).toEqual(expect.arrayContaining(calls));
});

it('what a provider does not offer it does not offer watched, and the rest of it stays', () => {
  const watched = watchedProvider(providerWith(['submit', 'observe', 'cancel']), watching().around);
  expect(watched).toMatchObject({ name: 'infro', outputHosts: ['cdn.test'] });
  for (const name of ['observeMany', 'list', 'find']) expect(watched).not.toHaveProperty(name);
});

it('of several wrappers the first is the outermost; a failure goes through all of them', async () => {
  const told: string[] = [];
  const named =
    (name: string): AroundCall =>
    (_provider, _call, run) => {
      told.push(name);
      return run();
    };
  const around = allAround(named('first'), named('second'));
  expect(await around('infro', 'cancel', () => Promise.resolve(7))).toBe(7);
  expect(told).toEqual(['first', 'second']);
  await expect(around('infro', 'list', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
});
