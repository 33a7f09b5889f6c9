import { variablePrefix } from '../providers/configuration.ts';
import { PROVIDERS } from '../providers/index.ts';
import { SIMULATORS } from '../simulators/index.ts';
import type { SimulatorSecrets } from './data-folder.ts';

/** The providers of which there is a simulator and an adapter, by name. */
export const SIMULATED: readonly string[] = SIMULATORS.map(({ name }) => name).filter((name) =>
  PROVIDERS.some((provider) => provider.name === name),
);

/** What the simulators read from the environment: SIM_<NAME>_API_KEY and SIM_<NAME>_WEBHOOK_SECRET. */
export function simulatorEnvironment(
  secrets: Readonly<Record<string, SimulatorSecrets>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(secrets).flatMap(([name, { apiKey, webhookSecret }]) => {
      const prefix = variablePrefix(name).replace(/^PROVIDER_/, 'SIM_');
      return [
        [`${prefix}API_KEY`, apiKey],
        [`${prefix}WEBHOOK_SECRET`, webhookSecret],
      ];
    }),
  );
}

/** The settings with which API and worker use simulators at these URLs instead of the real providers. */
export function providerEnvironment(
  urls: Readonly<Record<string, string>>,
  secrets: Readonly<Record<string, SimulatorSecrets>>,
): Record<string, string> {
  const settings = Object.entries(urls).flatMap(([name, url]) => settingsOf(name, url, secrets[name]));
  return {
    ...Object.fromEntries(settings),
    NET_ALLOW: Object.values(urls)
      .map((url) => new URL(url).host)
      .join(','),
  };
}

function settingsOf(name: string, url: string, secrets: SimulatorSecrets | undefined): [string, string][] {
  const definition = PROVIDERS.find((provider) => provider.name === name);
  if (definition === undefined || secrets === undefined) return [];
  const own = SIMULATORS.find((simulator) => simulator.name === name)?.adapterSettings?.(url) ?? {};
  const read = definition.configure(own);
  const signs = 'configured' in read && read.configured.webhookSecret === 'required';
  const values = {
    BASE_URL: url,
    API_KEY: secrets.apiKey,
    ...(signs ? { WEBHOOK_SECRET: secrets.webhookSecret } : {}),
    ...own,
  };
  return Object.entries(values).map(([setting, value]) => [`${variablePrefix(name)}${setting}`, value]);
}

/** The environment without settings of real providers: what runs here uses simulators only. */
export function withoutProviders(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('PROVIDER_')));
}

/** The URLs by name that the simulators have printed so far, one JSON object a line. */
export function printedUrls(output: string): Record<string, string> {
  const lines = output.split('\n').slice(0, -1);
  return Object.fromEntries(
    lines.map((line) => {
      const { name, url } = JSON.parse(line) as { name: string; url: string };
      return [name, url];
    }),
  );
}
