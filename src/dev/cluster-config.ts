/** Where the server's databases are, and the ports of 127.0.0.1 on which its services listen. */
export interface ClusterSettings {
  readonly database: { readonly port: number; readonly user: string; readonly password: string };
  /** `frontend` is what clients call; each service also has a port to find the others by. */
  readonly ports: Readonly<Record<ClusterService, { readonly grpc: number; readonly membership: number }>>;
  /** The file that `dynamicConfig` is written to. */
  readonly dynamicConfigFile: string;
  /** Fixed with the schema; 16 as small installations have. */
  readonly historyShards: number;
}

export const CLUSTER_SERVICES = ['frontend', 'history', 'matching', 'worker'] as const;
export type ClusterService = (typeof CLUSTER_SERVICES)[number];

/** Its own database and the one in which runs are looked up. */
export const CLUSTER_DATABASES = [
  { database: 'temporal', schema: 'postgresql/v12/temporal' },
  { database: 'temporal_visibility', schema: 'postgresql/v12/visibility' },
] as const;

/** For Temporal PostgreSQL 12 and newer are one. */
export const CLUSTER_PLUGIN = 'postgres12';

const ADDRESS = '127.0.0.1';
/** Four services in one process have a pool each; PostgreSQL allows 300. */
const CONNECTIONS = { default: 20, visibility: 8 } as const;

/** The server's configuration file: YAML, written as JSON, which is YAML without anything to escape. */
export function clusterConfig({
  database,
  ports,
  dynamicConfigFile,
  historyShards,
}: ClusterSettings): string {
  const store = (databaseName: string, maxConns: number) => ({
    sql: {
      pluginName: CLUSTER_PLUGIN,
      databaseName,
      connectAddr: `${ADDRESS}:${database.port}`,
      connectProtocol: 'tcp',
      user: database.user,
      password: database.password,
      maxConns,
      maxIdleConns: maxConns,
      maxConnLifetime: '1h',
    },
  });
  const [own, visibility] = CLUSTER_DATABASES;
  const frontend = `${ADDRESS}:${ports.frontend.grpc}`;
  const rpc = ({ grpc, membership }: ClusterSettings['ports'][ClusterService]) => ({
    rpc: { grpcPort: grpc, membershipPort: membership, bindOnLocalHost: true },
  });
  const disabled = { state: 'disabled' };
  const config = {
    log: { stdout: true, level: 'error' },
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: historyShards,
      datastores: {
        default: store(own.database, CONNECTIONS.default),
        visibility: store(visibility.database, CONNECTIONS.visibility),
      },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: ADDRESS } },
    services: Object.fromEntries(CLUSTER_SERVICES.map((name) => [name, rpc(ports[name])])),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: frontend },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    // The server does not start without this block.
    archival: { history: { ...disabled, enableRead: false }, visibility: { ...disabled, enableRead: false } },
    namespaceDefaults: { archival: { history: disabled, visibility: disabled } },
    publicClient: { hostPort: frontend },
    dynamicConfigClient: { filepath: dynamicConfigFile, pollInterval: '60s' },
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}

/** What our development server has too: without the first every task of a steady load waits about 50 ms. */
export function dynamicConfig(): string {
  const values = {
    'history.transferProcessorMaxPollRPS': 1_000,
    'matching.useNewMatcher': true,
    'system.enableEagerWorkflowStart': true,
    'system.enableActivityEagerExecution': true,
  };
  const entries = Object.entries(values).map(([name, value]) => [name, [{ value, constraints: {} }]]);
  return `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`;
}
