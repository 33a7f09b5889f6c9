import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadApiConfig, loadWorkerConfig } from '../../src/config.ts';
import { apiSchema, workerSchema } from '../../src/config-schema.ts';
import {
  durationMs,
  environmentOf,
  filledEnv,
  imageEnvironment,
  interpolate,
  read,
  readCompose,
  ROOT,
  variablesIn,
} from './compose.ts';
import type { Service } from './compose.ts';

const compose = readCompose();
const services = Object.entries(compose.services);
const ours = services.filter(([, { image }]) => image === 'darkroom:local');
const settings = new Set(Object.keys({ ...apiSchema.shape, ...workerSchema.shape }));
/** Read by Temporal's envconfig, the AWS SDK and Node itself. */
const OTHER = /^(TEMPORAL_[A-Z_]+|AWS_[A-Z_]+|PROVIDER_[A-Z_]+|NODE_OPTIONS)$/;
const isOurVariable = (name: string): boolean => settings.has(name) || OTHER.test(name);
/** Of each foreign image, from its own documents. */
const KNOWN: Readonly<Record<string, RegExp>> = {
  postgres: /^(POSTGRES_(USER|PASSWORD|DB)|TZ)$/,
  'temporalio/admin-tools': /^(SQL_(PLUGIN|HOST|PORT|USER|PASSWORD)|TEMPORAL_(ADDRESS|NAMESPACE))$/,
  'temporalio/server':
    /^(DB|DB_PORT|POSTGRES_(SEEDS|USER|PWD)|BIND_ON_IP|NUM_HISTORY_SHARDS|DYNAMIC_CONFIG_FILE_PATH)$/,
  'temporalio/ui': /^TEMPORAL_ADDRESS$/,
  'darkroom-minio': /^MINIO_(ROOT_USER|ROOT_PASSWORD|BROWSER|UPDATE)$/,
};
const FILLED = filledEnv({
  POSTGRES_PASSWORD: 'db1',
  TEMPORAL_POSTGRES_PASSWORD: 'db2',
  KEYRING: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
  AWS_ACCESS_KEY_ID: 'files',
  AWS_SECRET_ACCESS_KEY: 'files-secret',
  PROVIDER_KLING_API_KEY: 'key',
});

/** The names of .env.example, also of lines that are commented out. */
const documented = new Set(
  [...read('.env.example').matchAll(/^#? ?([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name ?? ''),
);

describe('docker-compose.yml', () => {
  it('has what a production needs', () => {
    const temporal = [
      'temporal',
      'temporal-namespace',
      'temporal-postgres',
      'temporal-schema',
      'temporal-ui',
    ];
    const own = ['api-1', 'api-2', 'bucket', 'migrate', 'worker-1', 'worker-2'];
    const names = [...own, 'minio', 'postgres', ...temporal].sort();
    expect(services.map(([name]) => name).sort()).toEqual(names);
    expect(compose.services['temporal']?.environment?.['POSTGRES_SEEDS']).toBe('temporal-postgres');
  });

  it('names a fixed version of every image, also in the Dockerfiles', () => {
    const froms = ['Dockerfile', 'docker/minio.Dockerfile'].flatMap((file) =>
      [...read(file).matchAll(/^FROM (\S+)/gm)].map(([, image]) => image ?? ''),
    );
    for (const image of [...services.map(([, { image }]) => image), ...froms])
      expect(image).toMatch(/^[a-z/.-]+:(?!latest)[a-z]*-?[0-9a-z][\w.-]*$/);
    // glibc, and a line of Node in long-term support.
    expect(froms.filter((image) => image.startsWith('node:'))).toEqual([
      'node:22-bookworm-slim',
      'node:22-bookworm-slim',
    ]);
  });

  it('asks only for variables that .env.example has, and knows every variable that it sets', () => {
    for (const name of variablesIn(read('docker-compose.yml'))) expect(documented).toContain(name);
    for (const [name, { image, environment = {} }] of services)
      for (const variable of Object.keys(environment)) {
        const known = KNOWN[image.split(':')[0] ?? ''];
        const isKnown = known === undefined ? isOurVariable(variable) : known.test(variable);
        expect({ name, variable, isKnown }).toEqual({ name, variable, isKnown: true });
      }
    for (const variable of Object.keys(imageEnvironment())) expect(settings).toContain(variable);
  });

  it('holds no secret, and refuses to start without one', () => {
    const secret = /PASSWORD|PWD|SECRET|KEYRING|ACCESS_KEY|ROOT_USER|DATABASE_URL/;
    for (const [name, { environment = {} }] of services)
      for (const [variable, value] of Object.entries(environment).filter(([key]) => secret.test(key)))
        expect({ name, variable, value }).toMatchObject({ value: expect.stringMatching(/\$\{[A-Z_]+:\?/) });
    expect(() => interpolate('${KEYRING:?set it in .env}', filledEnv({}))).toThrow(
      'required variable KEYRING is missing a value: set it in .env',
    );
  });

  it('publishes on this machine only, and the databases nowhere', () => {
    for (const [, { ports = [] }] of services)
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    for (const name of ['postgres', 'temporal-postgres', 'minio', 'temporal'])
      expect(compose.services[name]?.ports).toBeUndefined();
    expect(compose.services['temporal-postgres']?.networks).toEqual(['temporal']);
  });

  it('each name that a service points to is there: networks, volumes, files, hosts', () => {
    for (const [, service] of services) {
      for (const network of service.networks ?? []) expect(compose.networks).toHaveProperty([network]);
      for (const volume of service.volumes ?? []) {
        const [source = ''] = volume.split(':');
        if (source.startsWith('./')) expect(existsSync(`${ROOT}${source}`), source).toBe(true);
        else expect(compose.volumes).toHaveProperty([source]);
      }
      for (const name of Object.keys(service.depends_on ?? {}))
        expect(compose.services).toHaveProperty([name]);
    }
    const { DATABASE_URL, TEMPORAL_ADDRESS, STORAGE_URL } = environmentOf(compose.services['api-1']!, FILLED);
    const endpoint = new URLSearchParams(STORAGE_URL?.split('?')[1]).get('endpoint') ?? '';
    for (const host of [
      new URL(DATABASE_URL ?? '').hostname,
      TEMPORAL_ADDRESS?.split(':')[0] ?? '',
      new URL(endpoint).hostname,
    ])
      expect(compose.services).toHaveProperty([host]);
  });

  it('what waits for health waits for a service that has a check; what waits for an end, for one that ends', () => {
    for (const [, { depends_on: needs = {} }] of services)
      for (const [name, { condition }] of Object.entries(needs)) {
        const { healthcheck, restart }: Service = compose.services[name]!;
        if (condition === 'service_healthy') expect(healthcheck?.test, name).toBeDefined();
        else
          expect({ name, condition, restart }).toMatchObject({
            condition: 'service_completed_successfully',
            restart: 'on-failure',
          });
      }
  });

  it('API and worker have more time to stop than they take, and less heap than memory', () => {
    const LIMITS = { 'api-1': 28_000, 'api-2': 28_000, 'worker-1': 55_000, 'worker-2': 55_000 };
    for (const [name, limitMs] of Object.entries(LIMITS)) {
      const service = compose.services[name]!;
      expect(durationMs(service.stop_grace_period ?? ''), name).toBeGreaterThan(limitMs);
      const heap = /--max-old-space-size=(\d+)/.exec(service.environment?.['NODE_OPTIONS'] ?? '')?.[1];
      expect(service.deploy?.resources.limits.memory).toBe('1g');
      expect(Number(heap)).toBeLessThanOrEqual(0.8 * 1024);
      expect(service.restart).toBe('unless-stopped');
    }
  });

  it('gives API and worker a configuration that they accept, in production', () => {
    const names = ['api-1', 'api-2', 'bucket', 'migrate', 'worker-1', 'worker-2'];
    expect(ours.map(([name]) => name).sort()).toEqual(names);
    const api = loadApiConfig(environmentOf(compose.services['api-2']!, FILLED));
    expect(api).toMatchObject({
      production: true,
      databaseUrl: 'postgresql://darkroom:db1@postgres:5432/darkroom',
      port: 8080,
      temporalUiUrl: 'http://127.0.0.1:8233',
      storageUrl: 's3://darkroom/files?region=us-east-1&endpoint=http://minio:9000&path_style=true',
    });
    const worker = loadWorkerConfig(environmentOf(compose.services['worker-1']!, FILLED));
    expect(worker).toMatchObject({
      metrics: { host: '0.0.0.0', port: 9464 },
      workflowBundle: 'dist/workflows.js',
      deployment: null,
      codecKeys: null,
    });
  });

  it('runs Temporal with the dynamic configuration that a steady load needs', () => {
    const { environment = {}, volumes = [] } = compose.services['temporal']!;
    const [file = '', place = ''] = volumes[0]?.split(':') ?? [];
    expect(place).toBe(`/etc/temporal/${environment['DYNAMIC_CONFIG_FILE_PATH']}`);
    const values = parse(read(file)) as Record<string, { value: unknown }[]>;
    expect(values['history.transferProcessorMaxPollRPS']?.[0]?.value).toBe(1_000);
    expect(values['matching.useNewMatcher']?.[0]?.value).toBe(true);
  });
});

describe('.env.example', () => {
  it('has every variable of the configuration', () => {
    expect([...settings].filter((name) => !documented.has(name))).toEqual([]);
  });

  it('names nothing that no part reads', () => {
    const passwords = /^(TEMPORAL_)?POSTGRES_PASSWORD$/;
    expect([...documented].filter((name) => !isOurVariable(name) && !passwords.test(name))).toEqual([]);
  });
});
