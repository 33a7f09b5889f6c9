import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { setUsageLimit } from '../../src/db/index.ts';
import { createSlots } from '../../src/services/slots.ts';
import { png, wav } from '../storage/media.ts';
import { startApi } from './api.ts';
import type { Answer } from './client.ts';
import { PICTURE, upload } from './inputs.ts';
import { askBody, catalogue, SECRET, useInputSources } from './input-sources.ts';
import { codeOf, pathsOf } from './suite.ts';
import { create, get, newTenant, rowsOf } from './tenants.ts';

const { room, suite, outer, ask, askFor } = useInputSources();

const inputsOf = (generationId: string) =>
  suite.db.prisma.generationInput.findMany({ where: { generationId }, include: { input: true } });
const messageOf = (answer: Answer) => (answer.json()['errors'] as { message: string }[])[0]?.message;

describe('an image by its URL', () => {
  it('is fetched once, stored and tied to the generation, which shows the URL as it was sent', async () => {
    const tenant = await newTenant(suite.db);
    const url = `${outer.url}/boat.png?first#part`;
    const answer = await ask(tenant, url);
    expect(answer.status).toBe(202);
    const { id } = answer.json() as { id: string };
    const [tied, ...others] = await inputsOf(id);
    expect(others).toEqual([]);
    expect(tied).toMatchObject({
      field: 'image_url',
      input: { source: 'url', mediaType: 'image/png', width: 640, height: 360, tenantId: tenant.id },
    });
    expect(Buffer.from(tied!.input.sha256)).toEqual(createHash('sha256').update(PICTURE).digest());
    expect((await room.files()).get(tied!.input.path)).toEqual(PICTURE);
    // As long as outputs of it may be kept.
    expect(tied!.input.expiresAt.getTime()).toBeGreaterThan(Date.now() + 30 * 86_400_000);
    const shown = (await get(suite.api.url, tenant, `/v1/generations/${id}`)).json();
    expect(shown['input']).toMatchObject({ image_url: url });
  });

  it('IDEM-1 a repeated request fetches nothing, whatever lies there now', async () => {
    const tenant = await newTenant(suite.db);
    const first = await ask(tenant, `${outer.url}/boat.png?again`, 'again');
    const fetched = () => outer.requests.filter(({ path }) => path === '/boat.png?again').length;
    expect([first.status, fetched()]).toEqual([202, 1]);
    const second = await ask(tenant, `${outer.url}/boat.png?again`, 'again');
    expect([second.text, second.headers['idempotent-replayed'], fetched()]).toEqual([first.text, 'true', 1]);
    expect(codeOf(await ask(tenant, `${outer.url}/boat.png?other`, 'again'))).toEqual([
      422,
      'idempotency_key_reuse',
    ]);
    expect(outer.requests.some(({ path }) => path === '/boat.png?other')).toBe(false);
  });

  it.each([
    ['too small a picture', '/small.png', /^Is 299 × 600 pixels: each side must have 300 to 8192\.$/],
    ['a sound', '/sound.wav', /^Is audio\/wav: use one of image\/png, image\/jpeg, image\/webp\.$/],
    ['a page', '/page.html', /^Is of no kind that is taken here: use one of image\/png/],
    ['a part of a picture', '/cut.png', /damaged or cut off/],
    ['too large, by its length', '/large.png', /^Is too large: use at most 5000 bytes\.$/],
    ['too large, without a length', '/endless.png', /^Is too large: use at most 5000 bytes\.$/],
    ['a virus', '/evil.png', /virus scan/],
  ])('%s is told as such; nothing is held, and the key stays free', async (_name, path, message) => {
    const tenant = await newTenant(suite.db);
    const before = [...(await room.files()).keys()].filter((name) => !name.startsWith('tmp/'));
    const answer = await ask(tenant, `${outer.url}${path}`, 'key');
    expect(codeOf(answer)).toEqual([422, 'input_unusable']);
    expect(pathsOf(answer)).toEqual(['/input/image_url']);
    expect(messageOf(answer)).toMatch(message);
    expect(answer.text).not.toContain(SECRET);
    expect(await rowsOf(suite.db, tenant.id)).toEqual({ generations: 0, holds: 0, held: 0 });
    expect([...(await room.files()).keys()].filter((name) => !name.startsWith('tmp/'))).toEqual(before);
    expect((await ask(tenant, `${outer.url}/boat.png`, 'key')).status).toBe(202);
  });

  it('a scanner that fails is 503, never a pass', async () => {
    const answer = await askFor(await newTenant(suite.db), '/unscanned.png');
    expect([...codeOf(answer), answer.headers['retry-after']]).toEqual([503, 'scan_unavailable', '10']);
  });

  it('above the places of this process: 503 busy', async () => {
    const full = createSlots({ total: 0, perOwner: 0 });
    const inputSlots = { uploads: full, fetches: full };
    const api = await startApi(suite.db, { ...room.parts, catalogue, inputSlots });
    const answer = await create(api.url, await newTenant(suite.db), {
      body: askBody(`${outer.url}/boat.png`),
    });
    expect([...codeOf(answer), answer.headers['retry-after']]).toEqual([503, 'busy', '5']);
    await api.close();
  });

  it('nothing is fetched for who could not pay', async () => {
    const tenant = await newTenant(suite.db, { credits: 1 });
    expect(codeOf(await askFor(tenant, '/boat.png?poor'))).toEqual([402, 'insufficient_credits']);
    expect(outer.requests.some(({ path }) => path === '/boat.png?poor')).toBe(false);
    expect(await suite.db.prisma.storedInput.count({ where: { tenantId: tenant.id } })).toBe(0);
  });

  it('what is refused after it was fetched is let go at once', async () => {
    const tenant = await newTenant(suite.db);
    await setUsageLimit(suite.db, {
      tenantId: tenant.id,
      scope: 'tenant',
      account: null,
      generationsInFlight: 0,
      creditsPerDay: null,
      requestsPerMinute: null,
      cancelsPerDay: null,
      reason: 'test',
      actor: 'test',
    });
    expect(codeOf(await askFor(tenant, '/boat.png'))).toEqual([429, 'too_many_generations']);
    const [row] = await suite.db.prisma.storedInput.findMany({ where: { tenantId: tenant.id } });
    expect(row!.expiresAt.getTime()).toBeLessThanOrEqual(Date.now());
  });
});

describe('an image by the id of its upload', () => {
  it('is tied to the generation', async () => {
    const tenant = await newTenant(suite.db);
    const { id: inputId } = (await upload(suite.api.url, tenant)).json() as { id: string };
    const answer = await ask(tenant, inputId);
    expect(answer.status).toBe(202);
    const { id, input } = answer.json() as { id: string; input: object };
    expect(input).toMatchObject({ image_url: inputId });
    expect(await inputsOf(id)).toMatchObject([{ field: 'image_url', inputId }]);
    // Twice is fine.
    expect((await ask(tenant, inputId)).status).toBe(202);
  });

  it('has to fit the field', async () => {
    const tenant = await newTenant(suite.db);
    for (const [file, message] of [
      [wav(100), /^Is audio\/wav/],
      [png(100, 400), /^Is 100 × 400 pixels/],
      [Buffer.concat([PICTURE, Buffer.alloc(5_000)]), /^Is too large/],
    ] as const) {
      const { id } = (await upload(suite.api.url, tenant, { body: file })).json() as { id: string };
      const answer = await ask(tenant, id);
      expect([...codeOf(answer), pathsOf(answer)]).toEqual([422, 'input_unusable', ['/input/image_url']]);
      expect(messageOf(answer)).toMatch(message);
    }
  });

  it('TEN-1 unknown, deleted and another tenant’s are one answer', async () => {
    const [tenant, other] = [await newTenant(suite.db), await newTenant(suite.db)];
    const ids = await Promise.all(
      [tenant, other].map(async (owner) => String((await upload(suite.api.url, owner)).json()['id'])),
    );
    await suite.db.prisma.storedInput.update({ where: { id: ids[0]! }, data: { state: 'deleting' } });
    const answers = await Promise.all(
      [...ids, 'inp_06f1m4k2h8v7x9q3w5y1z0a2b4'].map((id) => ask(tenant, id)),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect([...codeOf(answers[0]!), pathsOf(answers[0]!)]).toEqual([
      404,
      'input_not_found',
      ['/input/image_url'],
    ]);
    expect(await rowsOf(suite.db, tenant.id)).toEqual({ generations: 0, holds: 0, held: 0 });
  });
});
