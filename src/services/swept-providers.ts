import type { Provider } from '../domain/provider.ts';
import type { ProviderConfig } from '../providers/configuration.ts';
import type { SweptProvider } from './sweep-context.ts';

/** The configured providers with all their credentials. */
export function sweptProviders(
  adapters: ReadonlyMap<string, Provider>,
  configured: ReadonlyMap<string, ProviderConfig>,
): ReadonlyMap<string, SweptProvider> {
  return new Map(
    [...configured].flatMap(([name, { credentials }]) => {
      const provider = adapters.get(name);
      const credential = (wanted: string) => credentials.get(wanted);
      return provider === undefined ? [] : [[name, { provider, credentials, credential }]];
    }),
  );
}
