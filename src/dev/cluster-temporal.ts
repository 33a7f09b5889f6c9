import { randomInt } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { registerSearchAttributes } from '../temporal/register.ts';
import { type Child, logTail, startChild, waitUntil } from './child.ts';
import type { ClusterPrograms } from './cluster-binary.ts';
import {
  CLUSTER_DATABASES,
  CLUSTER_PLUGIN,
  CLUSTER_SERVICES,
  clusterConfig,
  type ClusterSettings,
  dynamicConfig,
} from './cluster-config.ts';
import { freePort } from './ports.ts';
import { runTool } from './run-tool.ts';

const NAMESPACE = 'default';
const RETENTION_SECONDS = 7 * 86_400;
const HISTORY_SHARDS = 16;
/** Two cores that everything shares; a start takes about 5 s. */
const START_MS = 120_000;
const SCHEMA_MS = 120_000;

/** Temporal's clustered server, all four services in one process, on a PostgreSQL that is given. */
export interface ClusterTemporal {
  /** host:port of its frontend; the same after a restart. */
  readonly address: string;
  readonly client: Client;
  /** kill -9; resolves when it has ended. */
  kill(): Promise<void>;
  /** After a kill. @throws Error with the end of the log when it does not answer again */
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface Input {
  readonly programs: ClusterPrograms;
  readonly dataDir: string;
  readonly logs: string;
  readonly databaseUrl: string;
}

/**
 * Sets up the schema, writes the configuration into the data folder, starts the server, and registers the namespace
 * and our search attributes.
 * @throws Error with what the failing program said
 */
export async function startClusterTemporal(input: Input): Promise<ClusterTemporal> {
  const { port, username, password } = new URL(input.databaseUrl);
  const database = { port: Number(port), user: username, password };
  await setUpSchema(input.programs.sqlTool, database);
  const server = new ServerProcess(input, await writeConfig(input.dataDir, database));
  await server.start();
  const connection = Connection.lazy({ address: server.address });
  const client = new Client({ connection, namespace: NAMESPACE });
  const stop = async () => {
    await connection.close().catch(() => {});
    await server.stop();
  };
  try {
    await client.workflowService.registerNamespace({
      namespace: NAMESPACE,
      workflowExecutionRetentionPeriod: { seconds: RETENTION_SECONDS as never },
    });
    // The server's services learn of a new namespace one after the other, within some seconds.
    let failure: unknown;
    const registered = () =>
      registerSearchAttributes(client).then(
        () => true,
        (error: unknown) => {
          failure = error;
          return false;
        },
      );
    if (!(await waitUntil(registered, { timeoutMs: 60_000, everyMs: 500 }))) throw failure;
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    address: server.address,
    client,
    kill: () => server.kill(),
    start: () => server.start(),
    stop,
  };
}

async function setUpSchema(sqlTool: string, database: ClusterSettings['database']): Promise<void> {
  for (const { database: name, schema } of CLUSTER_DATABASES) {
    const env = {
      ...process.env,
      SQL_PLUGIN: CLUSTER_PLUGIN,
      SQL_HOST: '127.0.0.1',
      SQL_PORT: String(database.port),
      SQL_USER: database.user,
      // Not an argument: those are visible to every user of the machine.
      SQL_PASSWORD: database.password,
      SQL_DATABASE: name,
    };
    for (const args of [
      ['create-database'],
      ['setup-schema', '-v', '0.0'],
      ['update-schema', '--schema-name', schema],
    ]) {
      const { ok, output } = await runTool(sqlTool, args, { timeoutMs: SCHEMA_MS, env });
      if (!ok) throw new Error(`Temporal's schema could not be set up (${args.join(' ')}): ${output}`);
    }
  }
}

interface Written {
  readonly root: string;
  readonly frontendPort: number;
}

async function writeConfig(dataDir: string, database: ClusterSettings['database']): Promise<Written> {
  const root = join(dataDir, 'temporal');
  const config = join(root, 'config');
  mkdirSync(config, { recursive: true });
  const ports = await lowPorts(2 * CLUSTER_SERVICES.length);
  const settings = {
    database,
    ports: Object.fromEntries(
      CLUSTER_SERVICES.map((name, at) => [name, { grpc: ports[2 * at]!, membership: ports[2 * at + 1]! }]),
    ) as ClusterSettings['ports'],
    dynamicConfigFile: join(config, 'dynamic.yaml'),
    historyShards: HISTORY_SHARDS,
  };
  await writeFile(join(config, 'cluster.yaml'), clusterConfig(settings), { mode: 0o600 });
  await writeFile(settings.dynamicConfigFile, dynamicConfig());
  return { root, frontendPort: settings.ports.frontend.grpc };
}

const LOWEST_PORT = 20_000;
const HIGHEST_PORT = 32_767;

/**
 * Free ports that no outgoing connection takes while their server is down. In PostgreSQL Temporal keeps its ports as
 * smallint, so a server with a port above 32,767 does not start.
 * @throws Error when there are not so many
 */
export async function lowPorts(count: number): Promise<number[]> {
  const found: number[] = [];
  for (let port = LOWEST_PORT + randomInt(10_000); found.length < count && port <= HIGHEST_PORT; port++) {
    if ((await freePort(port)) === port) found.push(port);
  }
  if (found.length < count) throw new Error(`${count} free ports below 32768 were not found: try again.`);
  return found;
}

class ServerProcess {
  readonly address: string;
  readonly #input: Input;
  readonly #root: string;
  #child: Child | undefined;

  constructor(input: Input, { root, frontendPort }: Written) {
    this.#input = input;
    this.#root = root;
    this.address = `127.0.0.1:${frontendPort}`;
  }

  async start(): Promise<void> {
    const { programs, logs } = this.#input;
    const child = await startChild({
      name: 'Temporal',
      command: programs.server,
      args: ['--root', this.#root, '--config', 'config', '--env', 'cluster', '--allow-no-auth', 'start'],
      env: process.env,
      logFile: join(logs, 'temporal.log'),
    });
    this.#child = child;
    const options = { timeoutMs: START_MS, everyMs: 200, stopped: () => !child.isRunning() };
    if (await waitUntil(() => answers(this.address), options)) return;
    await child.stop(1_000);
    throw new Error(`Temporal's server did not start. The end of its log:\n${await logTail(child.logFile)}`);
  }

  async kill(): Promise<void> {
    await this.#child?.stop(1_000, 'SIGKILL');
  }

  async stop(): Promise<void> {
    await this.#child?.stop(10_000);
  }
}

/** Listing namespaces goes through to the database. */
async function answers(address: string): Promise<boolean> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: 2_000 });
    await connection.workflowService.listNamespaces({ pageSize: 1 });
    return true;
  } catch {
    return false;
  } finally {
    await connection?.close().catch(() => {});
  }
}
