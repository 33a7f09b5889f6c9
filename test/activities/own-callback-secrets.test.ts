/** The secret of a submission's callbacks on its way to the provider: in the bytes that are sent, in no row. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ActivityDeps } from '../../src/activities/index.ts';
import { sendSubmission } from '../../src/activities/send.ts';
import { loadGeneration } from '../../src/db/index.ts';
import { callbackSecretPlaceholder, createCallbackUrls } from '../../src/domain/callback-urls.ts';
import { newId } from '../../src/domain/ids.ts';
import { callbackSecrets, parseKeyring } from '../../src/domain/keyring.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { createProviders } from '../../src/providers/index.ts';
import { bflSimulator } from '../../src/simulators/bfl.ts';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { infroSimulator } from '../../src/simulators/infro.ts';
import { useDatabase } from '../db/database.ts';
import { create, newTenant, planFor } from '../db/fixtures.ts';
import { Control } from '../simulators/control.ts';

const test = useDatabase();
const CREDENTIAL = { name: 'main', apiKey: 'sim-key' };
const entry = (id: string, byte: number) => `${id}:${Buffer.alloc(32, byte).toString('base64')}`;
const BEFORE = parseKeyring(entry('old', 1));
const ROTATED = parseKeyring(`${entry('new', 2)},${entry('old', 1)}`);
const WITHOUT_OLD = parseKeyring(entry('new', 2));
const BASE = 'https://here.example';
const simulators: RunningSimulator[] = [];
const sims: Record<string, Control> = {};
let http: OutboundHttp;
let deps: ActivityDeps;

beforeAll(async () => {
  const running = await Promise.all(
    [bflSimulator, infroSimulator].map((simulator) => startSimulator(simulator, { renderMs: 60_000 })),
  );
  simulators.push(...running);
  const urls = running.map(({ name, url }) => [name, url] as const);
  for (const [name, url] of urls) sims[name] = new Control(url);
  http = createOutboundHttp({
    allow: urls.map(([, url]) => ({ host: '127.0.0.1', port: Number(new URL(url).port) })),
  });
  const adapters = createProviders({
    http,
    providers: new Map(urls.map(([name, baseUrl]) => [name, { baseUrl }])),
  });
  const log = { info: () => {}, error: () => {}, warn: () => {} };
  // Only what these steps use; the rest is never touched.
  deps = {
    db: test.db,
    providers: new Map(
      [...adapters].map(([name, provider]) => [
        name,
        { provider, current: CREDENTIAL, credential: () => CREDENTIAL },
      ]),
    ),
    links: null,
    log,
    random: () => 0.5,
  } as unknown as ActivityDeps;
});
afterAll(async () => {
  await http.close();
  await Promise.all(simulators.map((simulator) => simulator.close()));
});

async function ask(provider: string) {
  const prompt = newId('gen');
  const providerModel = provider === 'bfl' ? 'flux-2-pro' : 'm-video';
  const route = { provider, providerModel, callbacks: true, params: {}, estimatedCost: null };
  const method = provider === 'bfl' ? ('text-to-image' as const) : ('text-to-video' as const);
  const plan = { ...planFor(), method, routes: [route] };
  const id = await create(test.db, await newTenant(test.db), { plan, input: { prompt } });
  return { id, prompt };
}

async function send(id: string, keyring: typeof BEFORE) {
  const loaded = await loadGeneration(test.db, { generationId: id, dueInMs: 20_000 });
  return sendSubmission({ ...deps, callbacks: createCallbackUrls(keyring, BASE) }, loaded!, 0, false);
}

const rowOf = (id: string) =>
  test.db.prisma.submission.findUniqueOrThrow({ where: { id: submissionId(id, 1) } });
const bodyOf = (row: Awaited<ReturnType<typeof rowOf>>) => (row.request as { body: string }).body;
const sentTo = async (provider: string, prompt: string) =>
  (await sims[provider]!.journal(prompt)).jobs.map(({ request_body: body }) => JSON.parse(body) as object);

describe('the secret of a submission’s callbacks', () => {
  it('SEC-1 is sent beside the URL, and stands in no row: a mark does', async () => {
    const { id, prompt } = await ask('bfl');
    expect(await send(id, BEFORE)).toMatchObject({ step: 'wait' });
    const row = await rowOf(id);
    const [secret] = callbackSecrets(BEFORE, row.id);
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(await sentTo('bfl', prompt)).toMatchObject([
      {
        prompt,
        webhook_secret: secret,
        webhook_url: expect.stringContaining(`${BASE}/callbacks/bfl/${row.id}.`) as string,
      },
    ]);
    expect(JSON.parse(bodyOf(row))).toMatchObject({ webhook_secret: callbackSecretPlaceholder(row.id) });
    expect(JSON.stringify(row)).not.toContain(secret);
  });

  it('T10 stays the one of its first key when KEYRING is rotated before it is sent again', async () => {
    const { id, prompt } = await ask('bfl');
    await sims['bfl']!.fault(prompt, { kind: 'status_429', times: 1 });
    expect(await send(id, BEFORE)).toMatchObject({ step: 'submit', reason: 'capacity' });
    const frozen = bodyOf(await rowOf(id));
    expect(await send(id, ROTATED)).toMatchObject({ step: 'wait' });
    const row = await rowOf(id);
    expect([bodyOf(row), row.callbackKeyId]).toEqual([frozen, 'old']);
    expect(await sentTo('bfl', prompt)).toMatchObject([
      { webhook_secret: callbackSecrets(BEFORE, row.id)[0] },
    ]);
    // Whoever receives the callback tries the secrets of all keys.
    expect(callbackSecrets(ROTATED, row.id)).toContain(callbackSecrets(BEFORE, row.id)[0]);
  });

  it('nothing leaves while that key is not in KEYRING', async () => {
    const { id, prompt } = await ask('bfl');
    await sims['bfl']!.fault(prompt, { kind: 'status_429', times: 1 });
    await send(id, BEFORE);
    expect(await send(id, WITHOUT_OLD)).toMatchObject({ step: 'submit', reason: 'not_sent' });
    expect(await rowOf(id)).toMatchObject({ state: 'prepared', problem: 'callback_key_missing' });
    expect(await sentTo('bfl', prompt)).toEqual([]);
  });

  it('a provider that signs with its account’s secret is told none', async () => {
    const { id, prompt } = await ask('infro');
    expect(await send(id, BEFORE)).toMatchObject({ step: 'wait' });
    const row = await rowOf(id);
    const texts = [bodyOf(row), JSON.stringify(await sentTo('infro', prompt))].join();
    expect(texts).toContain('callback');
    expect(texts).not.toContain(callbackSecretPlaceholder(row.id));
    expect(texts).not.toContain(callbackSecrets(BEFORE, row.id)[0]);
  });
});
