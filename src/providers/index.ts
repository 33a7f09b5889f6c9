import type { Provider } from '../domain/provider.ts';
import type { OutboundHttp } from '../net/types.ts';
import { aigenway } from './aigenway.ts';
import { bfl } from './bfl.ts';
import { crazyrouter } from './crazyrouter.ts';
import type { ProviderDefinition } from './definition.ts';
import { fal } from './fal.ts';
import { infro } from './infro.ts';
import { kling } from './kling.ts';
import { luma } from './luma.ts';
import { minimax } from './minimax.ts';
import { openaivideos } from './openaivideos.ts';
import { replicate } from './replicate.ts';
import { runway } from './runway.ts';
import { veo } from './veo.ts';

/** Every provider there is; one more adapter is one more line. */
export const PROVIDERS: readonly ProviderDefinition[] = [
  infro,
  aigenway,
  crazyrouter,
  replicate,
  fal,
  kling,
  runway,
  bfl,
  luma,
  veo,
  openaivideos,
  minimax,
];

/** Address and own settings of one provider (configuration.ts); what is left out has its default. */
interface ProviderSettings {
  readonly baseUrl?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

/** The adapters of these providers, by name. @throws with what to set when a setting cannot be right */
export function createProviders({
  http,
  providers,
}: {
  readonly http: OutboundHttp;
  readonly providers: ReadonlyMap<string, ProviderSettings>;
}): ReadonlyMap<string, Provider> {
  return new Map(
    [...providers].map(([name, { baseUrl, settings = {} }]) => {
      const definition = PROVIDERS.find((candidate) => candidate.name === name);
      if (definition === undefined) {
        throw new Error(`There is no provider "${name}": ${PROVIDERS.map((known) => known.name).join(', ')}`);
      }
      const read = definition.configure(settings);
      if ('problems' in read) {
        throw new Error(
          read.problems.map(({ setting, problem }) => `${name} ${setting} ${problem}`).join('; '),
        );
      }
      return [name, read.configured.create({ http, baseUrl: baseUrl ?? definition.baseUrl })];
    }),
  );
}
