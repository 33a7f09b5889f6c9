import type { Provider } from '../domain/provider.ts';
import type { OutboundHttp } from '../net/types.ts';
import { createInfroProvider, type InfroConfig } from './infro.ts';

/** Settings per provider; one that is absent is not offered. */
export interface ProvidersConfig {
  readonly http: OutboundHttp;
  readonly infro?: Omit<InfroConfig, 'http'> | undefined;
}

/** All configured providers by name (`infro`); throws with what to set when a setting cannot be right. */
export function createProviders({ http, infro }: ProvidersConfig): ReadonlyMap<string, Provider> {
  const providers = infro === undefined ? [] : [createInfroProvider({ http, ...infro })];
  return new Map(providers.map((provider) => [provider.name, provider]));
}
