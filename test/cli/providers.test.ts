import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { setProviderBudget } from '../../src/db/index.ts';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { PROVIDERS } from '../../src/providers/index.ts';
import { aigenwaySimulator } from '../../src/simulators/aigenway.ts';
import { startSimulator } from '../../src/simulators/core.ts';
import { useDatabase } from '../db/database.ts';
import { accept, create, newTenant, send } from '../db/fixtures.ts';
import type { Ran } from './run.ts';
import { awayFromTheTurn } from '../db/turns.ts';

const database = useDatabase();
const folder = mkdtempSync(join(tmpdir(), 'darkroom-providers-'));
const before = process.cwd();
// No .darkroom of a running stack lies here.
beforeAll(() => process.chdir(folder));
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

/** `darkroom providers …` in this process, with these variables of ours only. */
async function providers(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  for (const name of Object.keys(process.env)) {
    if (/^(PROVIDER_|DATABASE_URL|CATALOGUE_FILE|NET_ALLOW)/.test(name)) vi.stubEnv(name, undefined);
  }
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const texts = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((chunk) => {
      texts[name] += String(chunk);
      return true;
    }),
  );
  try {
    return { code: await runProgram(['providers', ...args]), ...texts };
  } finally {
    for (const spy of spies) spy.mockRestore();
    vi.unstubAllEnvs();
  }
}

const listed = ({ stdout }: Ran) => JSON.parse(stdout) as Record<string, unknown>[];
const named = (ran: Ran, name: string) => listed(ran).find((provider) => provider['name'] === name);

function catalogueFile(name: string, change: (models: Record<string, unknown>[]) => unknown): string {
  const models = JSON.parse(JSON.stringify(DEFAULT_CATALOGUE.models)) as Record<string, unknown>[];
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify({ models: change(models) }));
  return file;
}

const INFRO = {
  PROVIDER_INFRO_API_KEY: 'sk-canary-1',
  PROVIDER_INFRO_API_KEY_EU: 'sk-canary-2',
  PROVIDER_INFRO_CREDENTIAL: 'eu',
  PROVIDER_INFRO_WEBHOOK_SECRET: 'whsec_canary',
};

describe('darkroom providers', () => {
  it('lists every registered provider without database or key', async () => {
    const ran = await providers(['--json']);
    expect([ran.code, ran.stderr]).toEqual([
      0,
      'note: DATABASE_URL is not set, so circuits, costs and budgets are not shown\n',
    ]);
    expect(listed(ran).map(({ name }) => name)).toEqual(PROVIDERS.map(({ name }) => name));
    expect(named(ran, 'infro')).toEqual({
      name: 'infro',
      idempotency: 'replay',
      callbacks: 'signed',
      cancel: 'may_bill',
      list: false,
      cost: 'estimate',
      inlineInputBytes: 0,
      find: false,
      models: false,
      methods: { 'text-to-video': ['prompt', 'duration_seconds'] },
      configured: false,
      credentials: [],
      credential: null,
      webhook_secret: null,
      today: null,
    });
  });

  it('tells what is configured, and no key or secret', async () => {
    const env = { ...INFRO, PROVIDER_INFRO_CANCEL_PATH: 'none', PROVIDER_RUNWAY_API_KEY: 'sk-canary-3' };
    const json = await providers(['--json'], env);
    const text = await providers([], env);
    expect(named(json, 'infro')).toMatchObject({
      configured: true,
      credentials: ['default', 'eu'],
      credential: 'eu',
      webhook_secret: 'set',
      cancel: 'unsupported',
    });
    expect(named(json, 'runway')).toMatchObject({ configured: true, webhook_secret: 'not_needed' });
    expect(text.stdout).toMatch(
      /^infro +yes +replay +signed +unsupported +no +no +estimate +- +- +- +- +-$/m,
    );
    expect(text.stdout).toMatch(/^runway +image-to-video +image_url, prompt/m);
    expect(JSON.stringify([json, text])).not.toContain('canary');
  });

  it('tells a missing webhook secret, and every wrong variable', async () => {
    const ran = await providers([], { PROVIDER_INFRO_API_KEY: 'sk-canary-1' });
    expect(ran.stdout).toMatch(/^infro +no webhook secret /m);
    const wrong = await providers([], {
      PROVIDER_INFRO_API_KEY: ' ',
      PROVIDER_KLING_SIGNED_CALLBACKS: 'yes',
    });
    expect([wrong.code, wrong.stdout]).toEqual([78, '']);
    expect(wrong.stderr).toContain('PROVIDER_INFRO_API_KEY is empty');
    expect(wrong.stderr).toContain('PROVIDER_KLING_SIGNED_CALLBACKS must be true or false');
  });

  it('tells circuit, waiting jobs, cost and budget of today', async () => {
    await awayFromTheTurn('day');
    const id = await create(database.db, await newTenant(database.db));
    await send(database.db, id, { estimatedCost: { amount: '0.25', unit: 'USD' } });
    await accept(database.db, id);
    const budget = { provider: 'infro', amountPerDay: '25', unit: 'USD', reason: 'test', actor: 'test' };
    await setProviderBudget(database.db, budget);
    await database.sql(
      `INSERT INTO provider_circuit (provider, failures, open_until) VALUES ('infro', 5, now() + interval '1 minute'), ('kling', 5, now() - interval '1 minute')`,
    );
    const ran = await providers(['--json'], { DATABASE_URL: database.url });
    expect([ran.code, ran.stderr]).toEqual([0, '']);
    expect(named(ran, 'infro')?.['today']).toEqual({
      circuit: 'open',
      circuit_open_until: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      jobs_waiting: 1,
      spent: [{ amount: '0.25', unit: 'USD' }],
      budget: { amount_per_day: '25', spent: '0.25', unit: 'USD', reached_at: null },
      paused: null,
    });
    expect(named(ran, 'kling')?.['today']).toMatchObject({
      circuit: 'half_open',
      jobs_waiting: 0,
      budget: null,
    });
    expect(named(ran, 'runway')?.['today']).toMatchObject({ circuit: 'closed', spent: [] });
  });

  it('lists without the facts of today when the database does not answer', async () => {
    const ran = await providers([], { DATABASE_URL: 'postgresql://u:canary@127.0.0.1:1/none' });
    expect([ran.code, ran.stderr]).toEqual([
      0,
      'note: the database does not answer, or is not migrated, so circuits, costs and budgets are not shown\n',
    ]);
    expect(ran.stdout).toMatch(/^kling /m);
  });
});

describe('darkroom providers check', () => {
  it('finds nothing wrong with the default catalogue', async () => {
    const ran = await providers(['check', '--json']);
    const routes = DEFAULT_CATALOGUE.models.flatMap((model) => model.routes).length;
    expect(JSON.parse(ran.stdout)).toEqual({
      ok: true,
      routes,
      compared: [],
      not_compared: ['aigenway'],
      mismatches: [],
    });
    expect(ran.code).toBe(0);
  });

  it('names routes that a provider can not serve, and exits with 1', async () => {
    const CATALOGUE_FILE = catalogueFile('unserved.json', ([first, ...rest]) => [
      { ...first, id: 'seeded', input: { ...(first!['input'] as object), seed: {} } },
      { ...first, id: 'painted', method: 'text-to-image' },
      { ...first, id: 'nobody', routes: [{ provider: 'nobody', providerModel: 'x' }] },
      ...rest,
    ]);
    const ran = await providers(['check'], { CATALOGUE_FILE });
    expect(ran.code).toBe(1);
    expect(ran.stdout.split('\n').slice(0, 3)).toEqual([
      'seeded at infro: infro takes no "seed" for text-to-video: remove the field or the route',
      'painted at infro: infro does not offer text-to-image',
      expect.stringMatching(/^nobody at nobody: "nobody" is no provider; use one of infro, /) as string,
    ]);
    const only = await providers(['check', 'kling'], { CATALOGUE_FILE });
    expect([only.code, only.stdout]).toEqual([0, 'All 2 routes fit their providers.\n']);
  });

  it('compares model names with the list of a provider that has one', async () => {
    const simulator = await startSimulator(aigenwaySimulator, { port: 0, apiKeys: ['sk-canary-1'] });
    const aigenway = {
      PROVIDER_AIGENWAY_API_KEY: 'sk-canary-1',
      PROVIDER_AIGENWAY_BASE_URL: simulator.url,
      NET_ALLOW: new URL(simulator.url).host,
    };
    const right = await providers(['check', 'aigenway'], aigenway);
    expect([right.code, right.stdout]).toEqual([
      0,
      'aigenway: compared with its own model list\nAll 1 routes fit their providers.\n',
    ]);
    const CATALOGUE_FILE = catalogueFile('models.json', (models) => {
      const routes = [
        { provider: 'aigenway', providerModel: 'kling-v9', params: { provider: 'kling' } },
        { provider: 'aigenway', providerModel: 'kling-v3', params: { provider: 'kling_ai' } },
      ];
      return [{ ...models[0], routes }];
    });
    const wrong = await providers(['check'], { ...aigenway, CATALOGUE_FILE });
    expect([wrong.code, wrong.stdout.split('\n')[0]]).toEqual([
      1,
      'infro-video at aigenway: "kling-v9" is not in the model list of aigenway for text-to-video: correct providerModel',
    ]);
    const denied = await providers(['check', 'aigenway'], {
      ...aigenway,
      PROVIDER_AIGENWAY_API_KEY: 'canary',
    });
    expect([denied.code, denied.stdout.split('\n')[0]]).toEqual([
      1,
      'standard-video at aigenway: the model list of aigenway could not be read (http_401): try again',
    ]);
    expect(JSON.stringify([right, wrong, denied])).not.toContain('canary');
    await simulator.close();
  });

  it('says which providers there are when the name is none', async () => {
    const ran = await providers(['check', 'nobody']);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain('There is no provider "nobody": use one of infro, aigenway,');
  });
});
