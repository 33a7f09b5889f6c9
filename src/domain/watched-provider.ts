import type { Provider } from './provider.ts';

/** The calls that an adapter makes to its provider. */
export const PROVIDER_CALLS = ['submit', 'observe', 'cancel', 'list', 'find'] as const;
export type ProviderCall = (typeof PROVIDER_CALLS)[number];

/** Goes around one call: runs it once and gives back what it gave. */
export type AroundCall = <T>(provider: string, call: ProviderCall, run: () => Promise<T>) => Promise<T>;

/** The same provider, each call with `around` about it. */
export function watchedProvider(provider: Provider, around: AroundCall): Provider {
  const { name } = provider;
  return {
    ...provider,
    submit: (...args) => around(name, 'submit', () => provider.submit(...args)),
    observe: (...args) => around(name, 'observe', () => provider.observe(...args)),
    cancel: (...args) => around(name, 'cancel', () => provider.cancel(...args)),
    ...(provider.observeMany && {
      observeMany: (...args) => around(name, 'observe', () => provider.observeMany!(...args)),
    }),
    ...(provider.list && { list: (...args) => around(name, 'list', () => provider.list!(...args)) }),
    ...(provider.find && { find: (...args) => around(name, 'find', () => provider.find!(...args)) }),
  };
}

/** Several wrappers as one, the first outermost. */
export function allAround(...around: readonly AroundCall[]): AroundCall {
  return (provider, call, run) =>
    around.reduceRight<typeof run>((inner, wrap) => () => wrap(provider, call, inner), run)();
}
