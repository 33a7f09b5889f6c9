import { Runtime } from '@temporalio/worker';
import { closeServer, createApiServer, listen } from '../api/server.ts';
import type { Log } from '../log.ts';
import { temporalLogger } from './temporal-logger.ts';

const HOST = '127.0.0.1';
const TRIES = 5;

/**
 * Installs Temporal's runtime with our log; with `metrics` it serves its own on a free loopback port.
 * @returns the URL of its metrics, or null without
 */
export async function installRuntime(log: Log, options: { readonly metrics: boolean }): Promise<URL | null> {
  const base = { shutdownSignals: [], logger: temporalLogger(log) };
  if (!options.metrics) {
    Runtime.install(base);
    return null;
  }
  for (let tried = 1; ; tried += 1) {
    const bindAddress = `${HOST}:${await freePort()}`;
    try {
      const prometheus = {
        bindAddress,
        countersTotalSuffix: true,
        unitSuffix: true,
        useSecondsForDurations: true,
      };
      Runtime.install({ ...base, telemetryOptions: { metrics: { prometheus } } });
      return new URL(`http://${bindAddress}/metrics`);
    } catch (error) {
      // Somebody took the port in between.
      if (tried >= TRIES) throw error;
    }
  }
}

async function freePort(): Promise<number> {
  const server = createApiServer((_request, response) => response.destroy());
  const port = await listen(server, 0, HOST);
  await closeServer(server, 0);
  return port;
}
