import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ActivityDeps } from '../../src/activities/index.ts';
import { sendSubmission } from '../../src/activities/send.ts';
import { loadGeneration, recordInput } from '../../src/db/index.ts';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { createFileLinks } from '../../src/domain/file-links.ts';
import { newId } from '../../src/domain/ids.ts';
import { parseKeyring } from '../../src/domain/keyring.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import { createKlingProvider } from '../../src/providers/kling.ts';
import { createRunwayProvider } from '../../src/providers/runway.ts';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { klingSimulator } from '../../src/simulators/kling.ts';
import { runwaySimulator } from '../../src/simulators/runway.ts';
import { createStorage } from '../../src/storage/index.ts';
import { useDatabase } from '../db/database.ts';
import { create, newTenant, planFor, type Tenant } from '../db/fixtures.ts';
import { Control, eventually } from '../simulators/control.ts';
import { png } from '../storage/media.ts';

const test = useDatabase();
const folder = temporaryFolder('provider-inputs');
const storage = createStorage(`file://${folder.path}`);
const links = createFileLinks(
  parseKeyring(`k1:${Buffer.alloc(32, 1).toString('base64')}`),
  'https://here.example',
);
const CREDENTIAL = { name: 'main', apiKey: 'sim-key' };
const PICTURE = png(640, 360);
const HOUR_MS = 3_600_000;
const sims: Record<string, Control> = {};
const running: RunningSimulator[] = [];
const warned: object[] = [];
let http: ReturnType<typeof createOutboundHttp>;
let deps: ActivityDeps;

beforeAll(async () => {
  const options = { renderMs: 60_000 };
  running.push(
    ...(await Promise.all([
      startSimulator(klingSimulator, options),
      startSimulator(runwaySimulator, options),
    ])),
  );
  http = createOutboundHttp({
    allow: running.map(({ url }) => ({ host: '127.0.0.1', port: Number(new URL(url).port) })),
  });
  const [kling, runway] = running.map(({ url }) => url) as [string, string];
  Object.assign(sims, { kling: new Control(kling), runway: new Control(runway) });
  const providers = [
    createKlingProvider({ http, baseUrl: kling }),
    createRunwayProvider({ http, baseUrl: runway }),
  ];
  const log = { info: () => {}, error: () => {}, warn: (fields: object) => warned.push(fields) };
  // Only what these steps use; the rest is never touched.
  deps = {
    db: test.db,
    providers: new Map(
      providers.map((provider) => [
        provider.name,
        { provider, current: CREDENTIAL, credential: () => CREDENTIAL },
      ]),
    ),
    callbacks: { current: () => null, url: () => null, submissionOf: () => null },
    storage,
    links: null,
    log,
    random: () => 0.5,
  } as unknown as ActivityDeps;
});
afterAll(async () => {
  await http.close();
  await Promise.all(running.map((simulator) => simulator.close()));
  await folder.remove();
});

/** A stored input of the tenant. */
async function storedInput(tenant: Tenant, bytes: Buffer): Promise<string> {
  const inputId = newId('inp');
  const file = await storage.create(`${inputId}/0-1`);
  await file.write(bytes);
  const stored = await file.commit();
  await recordInput(test.db, {
    inputId,
    tenantId: tenant.id,
    source: 'upload',
    ...stored,
    mediaType: 'image/png',
    width: 640,
    height: 360,
    durationSeconds: null,
    idempotencyKey: inputId,
    keepMs: 86_400_000,
  });
  return inputId;
}

interface Asked {
  readonly providers?: readonly string[];
  readonly bytes?: Buffer;
  /** Instead of the id of the upload. */
  readonly imageUrl?: string;
  readonly prompt?: string;
}

/** A generation from a stored image (or none), for these providers in this order. */
async function ask({ providers = ['runway'], bytes = PICTURE, imageUrl, prompt = newId('gen') }: Asked = {}) {
  const tenant = await newTenant(test.db);
  const inputId = imageUrl === undefined ? await storedInput(tenant, bytes) : null;
  const routes = providers.map((provider) => ({
    provider,
    providerModel: provider === 'kling' ? 'kling-3.0' : 'gen4_turbo',
    callbacks: false,
    params: provider === 'kling' ? {} : { ratio: '1280:720' },
    estimatedCost: null,
  }));
  const id = await create(test.db, tenant, {
    plan: { ...planFor(), method: 'image-to-video', routes },
    input: { prompt, image_url: inputId ?? imageUrl ?? '' },
    inputs: inputId === null ? [] : [{ field: 'image_url', inputId }],
  });
  return { id, tenant, inputId, prompt };
}

async function send(id: string, over: Partial<ActivityDeps> = {}, routeIndex = 0) {
  const loaded = await loadGeneration(test.db, { generationId: id, dueInMs: 20_000 });
  return sendSubmission({ ...deps, ...over }, loaded!, routeIndex, false);
}

const rowOf = (id: string, ordinal = 1) =>
  test.db.prisma.submission.findUniqueOrThrow({ where: { id: submissionId(id, ordinal) } });
const frozenBody = (row: Awaited<ReturnType<typeof rowOf>>) => (row.request as { body: string }).body;
const jobOf = async (provider: string, prompt: string) => (await sims[provider]!.journal(prompt)).jobs[0];
const inputOf = (provider: string, prompt: string) =>
  eventually(async () => (await jobOf(provider, prompt))?.input ?? undefined);

describe('with PUBLIC_URL', () => {
  it('a provider is given a link that works until an hour after the deadline', async () => {
    const { id, tenant, inputId, prompt } = await ask({ providers: ['kling'] });
    expect(await send(id, { links })).toMatchObject({ step: 'wait' });
    const body = JSON.parse((await jobOf('kling', prompt))!.request_body) as { contents: { url?: string }[] };
    const url = new URL(body.contents.find((content) => content.url !== undefined)!.url!);
    expect(url.origin + url.pathname).toBe(`https://here.example/files/inputs/${inputId}`);
    const owner = { tenantId: tenant.id, linkVersions: [1] };
    expect(links.verify(owner, url.pathname, url.search.slice(1))).toMatchObject({ verdict: 'valid' });
    const { deadlineAt } = await test.db.prisma.generation.findUniqueOrThrow({ where: { id } });
    const life = Number(url.searchParams.get('expires')) * 1_000 - deadlineAt.getTime();
    expect(life).toBeGreaterThanOrEqual(HOUR_MS - 1_000);
    expect(life).toBeLessThan(2 * HOUR_MS);
  });

  it('the link is frozen with the request: tried again, the bytes are the same', async () => {
    const { id, prompt } = await ask();
    await sims['runway']!.fault(prompt, { kind: 'status_429', times: 1 });
    expect(await send(id, { links })).toMatchObject({ step: 'submit', reason: 'capacity' });
    const first = frozenBody(await rowOf(id));
    expect(first).toContain('/files/inputs/');
    // The tenant's links are signed with another key from now on.
    await test.db.prisma.tenant.updateMany({ data: { linkVersion: 2 } });
    expect(await send(id, { links })).toMatchObject({ step: 'wait' });
    expect([frozenBody(await rowOf(id)), (await jobOf('runway', prompt))!.request_body]).toEqual([
      first,
      first,
    ]);
  });
});

describe('without PUBLIC_URL', () => {
  it('the file goes inline where the provider takes it; the row holds no bytes of it', async () => {
    const { id, prompt } = await ask();
    await sims['runway']!.fault(prompt, { kind: 'status_429', times: 1 });
    await send(id);
    expect(await send(id)).toMatchObject({ step: 'wait' });
    expect(await inputOf('runway', prompt)).toEqual({
      source: 'inline',
      answer: 200,
      media_type: 'image/png',
      bytes: PICTURE.length,
      sha256: createHash('sha256').update(PICTURE).digest('hex'),
    });
    const frozen = frozenBody(await rowOf(id));
    expect(frozen).toContain(`"https://input.invalid/${submissionId(id, 1)}/image_url"`);
    expect(frozen).not.toContain('base64');
  });

  it('a provider that takes none is passed over, for good and without a call; the next one gets it', async () => {
    const { id, prompt } = await ask({ providers: ['kling', 'runway'] });
    expect(await send(id)).toMatchObject({ step: 'submit', reason: 'refused', provider: 'runway' });
    expect(await rowOf(id)).toMatchObject({
      state: 'refused',
      problem: 'input_not_deliverable',
      refusalCode: 'provider_rejected',
    });
    expect(warned.at(-1)).toEqual({ generation: id, provider: 'kling', reason: 'input_not_deliverable' });
    expect((await sims['kling']!.journal(prompt)).requests).toEqual([]);
    // Our own reason says nothing of its health.
    expect(
      await test.db.prisma.providerCircuit.count({ where: { provider: 'kling', failures: { gt: 0 } } }),
    ).toBe(0);
    expect(await send(id, {}, 1)).toMatchObject({ step: 'wait' });
    expect(await inputOf('runway', prompt)).toMatchObject({ source: 'inline' });
  });

  it('with no route left the generation fails, released', async () => {
    const { id } = await ask({ providers: ['kling'] });
    expect(await send(id)).toMatchObject({
      step: 'settle',
      proposal: { state: 'failed', errorCode: 'provider_rejected' },
    });
  });

  it('a file above what the provider takes inline counts the same; the largest one goes', async () => {
    const limit = 3_300_000;
    const sized = (length: number) => Buffer.concat([PICTURE, Buffer.alloc(length - PICTURE.length)]);
    const large = await ask({ bytes: sized(limit + 1) });
    expect(await send(large.id)).toMatchObject({ step: 'settle' });
    expect(await rowOf(large.id)).toMatchObject({ problem: 'input_not_deliverable' });
    const largest = await ask({ bytes: sized(limit) });
    expect(await send(largest.id)).toMatchObject({ step: 'wait' });
    expect(await inputOf('runway', largest.prompt)).toMatchObject({ bytes: limit });
  });

  it('a file that can not be read now is tried again; one that is deleted is not', async () => {
    const { id, prompt } = await ask();
    const broken = { ...storage, read: () => Promise.reject(new Error('away')) };
    expect(await send(id, { storage: broken })).toMatchObject({ step: 'submit', reason: 'not_sent' });
    expect(await rowOf(id)).toMatchObject({ state: 'prepared', problem: 'input_unreadable' });
    const short = {
      ...storage,
      read: async () =>
        (async function* () {
          yield PICTURE.subarray(1);
        })(),
    };
    expect(await send(id, { storage: short })).toMatchObject({ step: 'submit', reason: 'not_sent' });
    expect((await sims['runway']!.journal(prompt)).requests).toEqual([]);
    expect(await send(id)).toMatchObject({ step: 'wait' });

    // What no rule allows, since a running generation needs it.
    const other = await ask();
    const setState = (state: string) =>
      test.db.prisma.storedInput.update({ where: { id: other.inputId! }, data: { state } });
    await setState('deleting');
    expect(await send(other.id)).toMatchObject({ step: 'settle' });
    expect(await rowOf(other.id)).toMatchObject({ problem: 'input_deleted' });
    await setState('stored');
  });
});

describe('what is no stored file', () => {
  it('stays as it was sent: URLs of version 0.1, and texts that look like ours', async () => {
    const url = 'https://pictures.example/boat.png';
    const prompt = `https://input.invalid/${submissionId(newId('gen'), 1)}/image_url ${newId('gen')}`;
    const { id } = await ask({ imageUrl: url, prompt });
    expect(await send(id)).toMatchObject({ step: 'wait' });
    expect(JSON.parse((await jobOf('runway', prompt))!.request_body)).toMatchObject({
      promptImage: url,
      promptText: prompt,
    });
    expect(await inputOf('runway', prompt)).toMatchObject({ answer: 'not_fetched' });
  });
});
