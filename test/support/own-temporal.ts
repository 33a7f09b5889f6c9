import { rm } from 'node:fs/promises';
import { resolveTemporal } from '../../src/dev/temporal-binary.ts';
import { startTemporal } from '../../src/dev/temporal.ts';
import type { Temporal } from '../../src/dev/temporal.ts';

/** A Temporal server that a test may kill, wipe and start again at the same address. */
export interface OwnTemporal {
  /** The Temporal CLI that it runs. */
  readonly binary: string;
  readonly address: string;
  readonly uiUrl: string;
  kill(): Promise<void>;
  wipe(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export async function startOwnTemporal(dataDir: string): Promise<OwnTemporal> {
  const source = await resolveTemporal({ ...process.env, TEMPORAL_ADDRESS: undefined }, () => undefined);
  if (source.kind !== 'binary') throw new Error('tests start their own Temporal server: a binary is needed');
  const { path: binary } = source;
  let server: Temporal = await startTemporal({ binary, dataDir });
  const { address, uiUrl } = server;
  const port = Number(address.split(':')[1]);
  return {
    binary,
    address,
    uiUrl,
    async kill() {
      process.kill(server.pid, 'SIGKILL');
      await server.ended;
      await server.stop();
    },
    wipe: () => rm(dataDir, { recursive: true, force: true }),
    async start() {
      server = await startTemporal({ binary, dataDir, port });
      if (server.address !== address)
        throw new Error(`Temporal came back at ${server.address}, not at ${address}`);
    },
    stop: () => server.stop(),
  };
}
