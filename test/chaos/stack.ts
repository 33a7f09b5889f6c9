import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger } from '@temporalio/worker';
import pg from 'pg';
import { migrate } from '../../src/db/migrate.ts';
import type { SimulatorSecrets } from '../../src/dev/data-folder.ts';
import type { Parts } from '../../src/dev/parts.ts';
import { freePorts } from '../../src/dev/ports.ts';
import { withoutTemporal } from '../../src/dev/servers.ts';
import { providerEnvironment, SIMULATED, withoutProviders } from '../../src/dev/simulated-providers.ts';
import { resolveTemporal } from '../../src/dev/temporal-binary.ts';
import { writeWorkflowBundle } from '../../src/worker/bundle-workflows.ts';
import { buildPrograms } from '../support/programs.ts';
import { chaosCatalogue } from './catalogue.ts';
import { type Disk, openDisk } from './disk.ts';
import { SLOTS, type SlotName } from './plan.ts';
import { Link } from './proxy.ts';
import { TenantReceiver } from './receiver.ts';
import { type Crashable, openPostgres, openSimulators, openTemporal } from './servers.ts';
import { Slot } from './slot.ts';

/** The whole of Darkroom as processes of its own, with a link that can be disturbed between any two of them. */
export interface ChaosStack {
  readonly slots: Readonly<Record<SlotName, Slot>>;
  readonly postgres: Crashable;
  readonly temporal: Crashable;
  readonly disk: Disk;
  readonly receiver: TenantReceiver;
  /** By what they lead to: `database of worker-1`, `infro`, `receiver`, `public`, `tenant to api-1`. */
  readonly links: readonly Link[];
  /** Those of our processes to PostgreSQL. */
  readonly databaseLinks: readonly Link[];
  /** Those of the tenant to each API. */
  readonly clientLinks: readonly Link[];
  /** Past every fault, but for those of PostgreSQL itself. */
  readonly databaseUrl: string;
  /** As many connections as are asked for at once; none survives a crash, and new ones come. */
  readonly sql: pg.Pool;
  readonly temporalClient: Client;
  readonly temporalAddress: string;
  /** Past every link. */
  readonly apiUrls: readonly string[];
  /** By the tenant's links. */
  readonly clientUrls: readonly string[];
  readonly webhookUrl: string;
  readonly storageUrl: string;
  /** Past the links. */
  readonly simulators: Readonly<Record<string, string>>;
  readonly simulatorKeys: Readonly<Record<string, string>>;
  readonly logs: string;
  readonly secrets: readonly string[];
}

const secret = (bytes = 24) => randomBytes(bytes).toString('base64');

/**
 * Starts everything in `dataDir`; what runs is in `parts`.
 * @throws Error saying which part did not start, with the end of its log
 */
export async function startChaosStack(
  dataDir: string,
  parts: Parts,
  say: (line: string) => void,
): Promise<ChaosStack> {
  const logs = join(dataDir, 'logs');
  mkdirSync(logs, { recursive: true });
  const source = await resolveTemporal({ ...process.env, TEMPORAL_ADDRESS: '' }, say);
  if (source.kind !== 'binary') throw new Error('npm run chaos starts a Temporal server of its own.');
  say('compiling the programs');
  const bundle = join(dataDir, 'workflows.js');
  const [programs] = await Promise.all([
    buildPrograms(),
    writeWorkflowBundle(bundle, new DefaultLogger('WARN')),
  ]);
  parts.add(() => rm(programs, { recursive: true, force: true }));
  const disk = await openDisk(dataDir);
  parts.add(() => disk.remove());

  const all: Link[] = [];
  const open = async (name: string, ...targets: number[]) => {
    const link = await Link.open(name, targets);
    all.push(link);
    parts.add(() => link.close());
    return link;
  };
  const linksTo = async (what: string) =>
    Object.fromEntries(
      await Promise.all(SLOTS.map(async (slot) => [slot, await open(`${what} of ${slot}`)] as const)),
    ) as Record<SlotName, Link>;
  const [databaseLinks, temporalLinks] = await Promise.all([linksTo('database'), linksTo('temporal')]);
  const direct = { database: await Link.open('database'), temporal: await Link.open('temporal') };
  parts.add(() => Promise.all([direct.database.close(), direct.temporal.close()]));
  const providerLinks: Record<string, Link> = {};
  for (const name of SIMULATED) providerLinks[name] = await open(name);
  const receiver = await TenantReceiver.start();
  parts.add(() => receiver.close());
  const receiverLink = await open('receiver', receiver.port);
  const apiPorts = await freePorts(2);
  const publicLink = await open('public', ...apiPorts);
  const clientLinks = await Promise.all(apiPorts.map((port, at) => open(`tenant to api-${at + 1}`, port)));

  parts.assertWanted();
  say('starting PostgreSQL, Temporal and the simulators');
  const simulatorSecrets: Record<string, SimulatorSecrets> = Object.fromEntries(
    SIMULATED.map((name) => [
      name,
      { apiKey: `sim_${randomBytes(16).toString('hex')}`, webhookSecret: `whsec_${secret(32)}` },
    ]),
  );
  const postgres = await openPostgres(dataDir, logs, [...Object.values(databaseLinks), direct.database]);
  parts.add(() => postgres.stop());
  const temporal = await openTemporal(
    source.path,
    dataDir,
    logs,
    [...Object.values(temporalLinks), direct.temporal],
    say,
  );
  parts.add(() => temporal.stop());
  const simulators = await openSimulators(programs, logs, simulatorSecrets, providerLinks);
  parts.add(() => simulators.child.stop(2_000, 'SIGKILL'));
  const databaseUrl = postgres.urlBy(direct.database);
  await migrate(databaseUrl);

  const catalogueFile = join(dataDir, 'catalogue.json');
  await writeFile(catalogueFile, JSON.stringify(chaosCatalogue));
  const keyring = secret(32);
  const providers = providerEnvironment(
    Object.fromEntries(SIMULATED.map((name) => [name, `http://127.0.0.1:${providerLinks[name]?.port}`])),
    simulatorSecrets,
  );
  const storageUrl = pathToFileURL(disk.path).href;
  const env: NodeJS.ProcessEnv = {
    ...withoutProviders(withoutTemporal(process.env, true, dataDir)),
    NODE_OPTIONS: '',
    NODE_ENV: 'development',
    HOST: '127.0.0.1',
    PUBLIC_URL: `http://127.0.0.1:${publicLink.port}`,
    ...providers,
    NET_ALLOW: `${providers['NET_ALLOW']},127.0.0.1:${receiverLink.port}`,
    STORAGE_URL: storageUrl,
    KEYRING: `chaos:${keyring}`,
    CATALOGUE_FILE: catalogueFile,
    WORKFLOW_BUNDLE: bundle,
    LOG_LEVEL: 'info',
  };
  const slots = Object.fromEntries(
    SLOTS.map((name) => {
      const kind = name.startsWith('api') ? 'api' : 'worker';
      const own = {
        DATABASE_URL: postgres.urlBy(databaseLinks[name]),
        TEMPORAL_ADDRESS: `127.0.0.1:${temporalLinks[name].port}`,
        ...(kind === 'api' ? { PORT: String(apiPorts[name === 'api-1' ? 0 : 1]) } : {}),
      };
      const options = { name, kind, programs, logs, diskFullMarker: disk.marker } as const;
      return [name, new Slot({ ...options, env: { ...env, ...own } })];
    }),
  ) as Record<SlotName, Slot>;
  parts.add(() => Promise.all(Object.values(slots).map((slot) => slot.close())));
  parts.assertWanted();
  say('starting two APIs and two workers');
  await Promise.all(Object.values(slots).map((slot) => slot.start()));

  const sql = new pg.Pool({ connectionString: databaseUrl, max: 6, connectionTimeoutMillis: 5_000 });
  sql.on('error', () => {});
  const connection = Connection.lazy({ address: `127.0.0.1:${direct.temporal.port}` });
  parts.add(() => Promise.all([sql.end(), connection.close()]));
  return {
    slots,
    postgres,
    temporal,
    disk,
    receiver,
    links: all,
    databaseLinks: Object.values(databaseLinks),
    clientLinks,
    databaseUrl,
    sql,
    temporalClient: new Client({ connection }),
    temporalAddress: `127.0.0.1:${direct.temporal.port}`,
    apiUrls: apiPorts.map((port) => `http://127.0.0.1:${port}`),
    clientUrls: clientLinks.map(({ port }) => `http://127.0.0.1:${port}`),
    webhookUrl: `http://127.0.0.1:${receiverLink.port}`,
    storageUrl,
    simulators: simulators.urls,
    simulatorKeys: Object.fromEntries(SIMULATED.map((name) => [name, simulatorSecrets[name]?.apiKey ?? ''])),
    logs,
    secrets: [
      keyring,
      new URL(databaseUrl).password,
      ...Object.values(simulatorSecrets).flatMap(({ apiKey, webhookSecret }) => [apiKey, webhookSecret]),
    ],
  };
}
