import { Client, Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { loadClientConnectConfig } from '@temporalio/envconfig';

/** Address, namespace, TLS and API key from Temporal's own environment variables and profile file. */
export function temporalSettings() {
  const { namespace = 'default', connectionOptions } = loadClientConnectConfig();
  return { namespace, connectionOptions };
}

/**
 * A client that connects on first use, so that a process starts also while Temporal is away.
 * @param dataConverter - of data-converter.ts; without it for calls that send and read no payload
 */
export function connectTemporal(dataConverter?: DataConverter): {
  client: Client;
  close: () => Promise<void>;
} {
  const { namespace, connectionOptions } = temporalSettings();
  const connection = Connection.lazy(connectionOptions);
  return {
    client: new Client({ connection, namespace, ...(dataConverter && { dataConverter }) }),
    close: () => connection.close(),
  };
}
