import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import type { GenerationView } from '../../src/domain/generation-view.ts';
import { openDb } from '../../src/db/index.ts';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { createTenant } from '../../src/services/create-tenant.ts';
import { grantCredits } from '../../src/services/grant-credits.ts';
import { missingSearchAttributes } from '../../src/temporal/register.ts';
import { eventually } from '../simulators/control.ts';
import { startSimulators, type Simulators } from '../support/darkroom.ts';
import { type Minio, startMinio } from '../support/minio.ts';
import { type OwnTemporal, startOwnTemporal } from '../support/own-temporal.ts';
import { filledEnv, readCompose } from './compose.ts';
import { ComposeRun, makeImage } from './compose-run.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 180_000 });

const PASSWORD = 'a4f1c0ffee';
const ATTRIBUTES = ['TenantId', 'Provider', 'Model', 'GenerationState'];
const folder = temporaryFolder('compose');
let temporal: OwnTemporal;
let minio: Minio;
let simulators: Simulators;
let connection: Connection;
let run: ComposeRun;
let apis: readonly string[];

/** As the superuser of the embedded server, which stands for the file's postgres. */
async function administer(...statements: string[]): Promise<void> {
  const url = new URL(inject('templateUrl'));
  url.pathname = '/postgres';
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    for (const sql of statements) await client.query(sql);
  } finally {
    await client.end();
  }
}
const DROP = ['DROP DATABASE IF EXISTS darkroom WITH (FORCE)', 'DROP ROLE IF EXISTS darkroom'];

beforeAll(async () => {
  [temporal, minio, simulators] = await Promise.all([
    startOwnTemporal(join(folder.path, 'temporal')),
    startMinio(folder.path),
    startSimulators(join(folder.path, 'logs')),
    // What POSTGRES_USER, POSTGRES_PASSWORD and POSTGRES_DB do in the image.
    administer(
      ...DROP,
      `CREATE ROLE darkroom LOGIN SUPERUSER PASSWORD '${PASSWORD}'`,
      'CREATE DATABASE darkroom OWNER darkroom',
    ),
  ]);
  connection = await Connection.connect({ address: temporal.address });
  // The file's Temporal begins without them.
  await connection.operatorService.removeSearchAttributes({
    namespace: 'default',
    searchAttributes: ATTRIBUTES,
  });
  const { NET_ALLOW = '', ...providers } = simulators.environment;
  const env = filledEnv({
    POSTGRES_PASSWORD: PASSWORD,
    TEMPORAL_POSTGRES_PASSWORD: 'of a server that is not started here',
    KEYRING: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
    ...minio.env,
    ...providers,
    NET_ALLOW,
    // Production refuses the simulators, which are on this machine.
    NODE_ENV: 'test',
  });
  const postgres = new URL(inject('templateUrl'));
  const hosts = {
    'postgres:5432': postgres.host,
    'temporal:7233': temporal.address,
    'http://minio:9000': minio.endpoint,
  };
  const app = await makeImage(folder.path);
  run = new ComposeRun(readCompose(), app, env, hosts);
  const [one, two] = await run.mapPorts([
    ['api-1', 8080],
    ['api-2', 8080],
    ['worker-1', 9464],
    ['worker-2', 9464],
  ]);
  apis = [`http://127.0.0.1:${one}`, `http://127.0.0.1:${two}`];
  env['PUBLIC_URL'] = apis[0]!;
});
afterAll(async () => {
  await Promise.all([...(run?.containers.values() ?? [])].map(({ child }) => child.stop(0, 'SIGKILL')));
  await Promise.allSettled([connection?.close(), simulators?.child.stop(2_000, 'SIGKILL')]);
  await Promise.allSettled([temporal?.stop(), minio?.stop(), administer(...DROP)]);
  await folder.remove();
});

/** A tenant with credits; its key. */
async function tenant(databaseUrl: string): Promise<string> {
  const db = openDb(databaseUrl, { poolSize: 1 });
  try {
    const { id } = await createTenant({ db }, { name: 'Acme' });
    const grant = { businessKey: 'first-purchase', reason: 'test', actor: 'test' };
    await grantCredits({ db }, { tenantId: id, account: 'default', credits: 500, ...grant });
    return (await createApiKey({ db }, { tenantId: id, scopes: ['generations'], label: 'backend' })).text;
  } finally {
    await db.close();
  }
}

async function ask(api: string, key: string, path: string, body?: object): Promise<GenerationView> {
  const answer = await fetch(`${api}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      ...(body && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(answer.ok, `${path} answered ${answer.status}`).toBe(true);
  return (await answer.json()) as GenerationView;
}

describe('what docker-compose.yml says, run against embedded parts', () => {
  it('starts in its order: bucket and migrations first, then two APIs and two workers, until all are healthy', async () => {
    await run.up();
    expect([...run.containers.keys()].sort()).toEqual(['api-1', 'api-2', 'worker-1', 'worker-2']);
    expect(await missingSearchAttributes(new Client({ connection }))).toEqual([]);
    // Each `up` runs the jobs again.
    expect(await run.job('bucket')).toContain('the bucket darkroom was there');
  });

  it('one generation through the public API: asked of one, read at the other, its file from the object store', async () => {
    const key = await tenant(
      `postgresql://darkroom:${PASSWORD}@${new URL(inject('templateUrl')).host}/darkroom`,
    );
    const asked = await ask(apis[1]!, key, '/v1/generations', {
      model: 'infro-video',
      input: { prompt: `by compose ${randomUUID()}`, duration_seconds: 5 },
    });
    const ended = await eventually(async () => {
      const generation = await ask(apis[0]!, key, `/v1/generations/${asked.id}`);
      return generation.stage === 'done' ? generation : undefined;
    }, 60_000);
    expect(ended).toMatchObject({ state: 'succeeded', delivery: 'stored' });
    const [output] = ended.outputs;
    const file = await fetch(output?.url ?? '');
    expect(file.status).toBe(200);
    expect((await file.arrayBuffer()).byteLength).toBe(output?.bytes);
    expect(await minio.everything('darkroom')).toEqual([`files/${asked.id}/0-1`]);
  });

  it('stops on SIGTERM within its grace period, each with status 0, and its checks fail from then on', async () => {
    const stopped = { code: 0, signal: null };
    expect(await run.down()).toEqual({
      'api-1': stopped,
      'api-2': stopped,
      'worker-1': stopped,
      'worker-2': stopped,
    });
    for (const name of ['api-1', 'worker-1']) expect(await run.containers.get(name)?.health()).toBe(1);
  });
});
