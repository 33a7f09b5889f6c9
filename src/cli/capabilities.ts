import { ConfigError, loadProviderConfig } from '../config.ts';
import { createOutboundHttp } from '../net/index.ts';
import { everyProvider } from '../services/list-providers.ts';
import type { ShowContext } from '../services/show-generation.ts';
import { commandEnvironment } from './environment.ts';

/** What each provider can do, as it is configured here; as by default where the configuration can not be read. */
export async function withCapabilities<T>(
  run: (capabilitiesOf: ShowContext['capabilitiesOf']) => Promise<T>,
): Promise<T> {
  const http = createOutboundHttp({ allow: [] });
  try {
    const providers = everyProvider(http, configured());
    return await run((name) => providers.get(name)?.capabilities ?? null);
  } finally {
    await http.close();
  }
}

function configured(): Parameters<typeof everyProvider>[1] {
  try {
    return loadProviderConfig(commandEnvironment()).providers;
  } catch (error) {
    if (error instanceof ConfigError) return new Map();
    throw error;
  }
}
