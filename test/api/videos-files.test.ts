/** The file of `POST /v1/videos`: in a form, by name, or in a data URL. */
import { request as httpRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createInputSlots, createSlots } from '../../src/services/slots.ts';
import { eventually } from '../simulators/control.ts';
import { png } from '../storage/media.ts';
import { startApi } from './api.ts';
import { INFECTED, PICTURE, UNSCANNABLE, upload, useFiles } from './inputs.ts';
import { sha256 } from './files.ts';
import { useApi } from './suite.ts';
import { get, newTenant, rowsOf, type TestTenant } from './tenants.ts';
import {
  createVideo,
  cutForm,
  errorOf,
  formOf,
  idOf,
  messageOf,
  sendForm,
  WISH,
  type Part,
} from './videos.ts';

const room = useFiles();
const suite = useApi(room.parts);
const url = () => suite.api.url;

const ANIMATE: readonly Part[] = [
  ['model', 'animate-image'],
  ['prompt', 'It sails away'],
];
const FILE: Part = ['input_reference', PICTURE];

const generation = async (tenant: TestTenant, id: string) =>
  (await get(url(), tenant, `/v1/generations/${id}`)).json() as { input: Record<string, unknown> };
const inputsOf = (tenant: TestTenant) =>
  suite.db.prisma.storedInput.findMany({ where: { tenantId: tenant.id }, orderBy: { id: 'asc' } });
/** Files that nothing works from and that stay longer than a moment. */
const kept = async (tenant: TestTenant) =>
  (await inputsOf(tenant)).filter(({ expiresAt }) => expiresAt.getTime() > Date.now() + 1_000);

describe('the file', () => {
  it('becomes an input of the generation, wherever it stands in the form', async () => {
    const tenant = await newTenant(suite.db);
    for (const parts of [
      [FILE, ...ANIMATE],
      [...ANIMATE, FILE],
    ]) {
      const id = idOf(await sendForm(url(), tenant, parts, { 'Idempotency-Key': `k${parts.indexOf(FILE)}` }));
      const { input } = await generation(tenant, id);
      expect(input).toMatchObject({ prompt: 'It sails away', image_url: expect.stringMatching(/^inp_/) });
      const stored = (await get(url(), tenant, `/v1/inputs/${String(input['image_url'])}`)).json();
      expect(stored).toMatchObject({ media_type: 'image/png', sha256: sha256(PICTURE), width: 640 });
      // As long as the outputs may be kept.
      expect(Date.parse(stored['expires_at'] as string)).toBeGreaterThan(Date.now() + 20 * 86_400_000);
    }
  });

  it('may be named instead: an upload, or bytes in a data URL', async () => {
    const tenant = await newTenant(suite.db);
    const uploaded = (await upload(url(), tenant)).json()['id'] as string;
    const named = await sendForm(url(), tenant, [...ANIMATE, ['input_reference[file_id]', uploaded]]);
    expect((await generation(tenant, idOf(named))).input['image_url']).toBe(uploaded);
    const json: Part = ['input_reference', JSON.stringify({ file_id: uploaded })];
    const asJson = await sendForm(url(), tenant, [['model', 'animate-image'], ['prompt', 'json'], json]);
    expect((await generation(tenant, idOf(asJson))).input['image_url']).toBe(uploaded);
    const dataUrl = `data:image/png;base64,${PICTURE.toString('base64')}`;
    const body = { model: 'animate-image', prompt: 'inline', input_reference: { image_url: dataUrl } };
    const { input } = await generation(tenant, idOf(await createVideo(url(), tenant, body)));
    const stored = (await get(url(), tenant, `/v1/inputs/${String(input['image_url'])}`)).json();
    expect(stored['sha256']).toBe(sha256(PICTURE));
    const missing = await sendForm(url(), tenant, [
      ...ANIMATE,
      ['input_reference[file_id]', `inp_${'0'.repeat(26)}`],
    ]);
    expect(errorOf(missing)).toEqual([404, 'input_not_found', 'input_reference']);
  });

  it.each<[string, Uint8Array, number, string]>([
    ['is empty', Buffer.alloc(0), 422, 'input_unusable'],
    ['is cut', PICTURE.subarray(0, 60), 422, 'input_unusable'],
    ['is no picture', Buffer.from('hello, this is text and no picture at all'), 422, 'input_unusable'],
    ['is too small for the model', png(100, 100), 422, 'input_unusable'],
    ['is infected', INFECTED, 422, 'input_unusable'],
    ['can not be scanned now', UNSCANNABLE, 503, 'scan_unavailable'],
  ])('that %s makes no generation', async (_name, bytes, status, code) => {
    const tenant = await newTenant(suite.db);
    const answer = await sendForm(url(), tenant, [...ANIMATE, ['input_reference', bytes]]);
    expect(errorOf(answer).slice(0, 2)).toEqual([status, code]);
    if (status === 422) expect(messageOf(answer)).toMatch(/input_reference: .+/);
    expect(await rowsOf(suite.db, tenant.id)).toMatchObject({ generations: 0 });
    expect(await kept(tenant)).toEqual([]);
  });

  it('of a request without credits is let go of', async () => {
    const tenant = await newTenant(suite.db, { credits: 1 });
    expect(errorOf(await sendForm(url(), tenant, [...ANIMATE, FILE]))[0]).toBe(402);
    expect(await inputsOf(tenant)).toHaveLength(1);
    expect(await kept(tenant)).toEqual([]);
  });

  it('of a request that breaks is let go of, and the answer names the request', async () => {
    const tenant = await newTenant(suite.db);
    const rename = (from: string, to: string) =>
      suite.db.prisma.$executeRawUnsafe(`ALTER FUNCTION ${from}(jsonb) RENAME TO ${to}`);
    const dataUrl = `data:image/png;base64,${PICTURE.toString('base64')}`;
    await rename('create_generation', 'create_generation_away');
    try {
      for (const sent of [
        sendForm(url(), tenant, [...ANIMATE, FILE]),
        createVideo(url(), tenant, {
          model: 'animate-image',
          prompt: 'x',
          input_reference: { image_url: dataUrl },
        }),
      ]) {
        const answer = await sent;
        expect(errorOf(answer)).toEqual([500, 'internal_error', null]);
        expect(messageOf(answer)).toBe(
          'Send the same request again; if it stays, give the request id in X-Request-Id to your operator.',
        );
        expect(answer.headers['x-request-id']).toMatch(/^req_/);
      }
    } finally {
      await rename('create_generation_away', 'create_generation');
    }
    expect(await inputsOf(tenant)).toHaveLength(2);
    expect(await kept(tenant)).toEqual([]);
    expect((await sendForm(url(), tenant, [...ANIMATE, FILE])).status).toBe(200);
  });

  it('that is too large is 413, by its length before a byte of it came', async () => {
    const tenant = await newTenant(suite.db);
    const answer = await new Promise<number>((resolve, reject) => {
      const outgoing = httpRequest({
        port: new URL(url()).port,
        method: 'POST',
        path: '/v1/videos',
        headers: {
          Authorization: `Bearer ${tenant.key}`,
          'Content-Type': formOf([]).type,
          'Content-Length': String(80 * 1024 * 1024),
        },
      });
      outgoing.on('response', (response) => {
        resolve(response.statusCode ?? 0);
        outgoing.destroy();
      });
      outgoing.on('error', reject);
      // More than is read away of a body that is too large.
      outgoing.write(Buffer.alloc(9 * 1024 * 1024));
    });
    expect(answer).toBe(413);
  });

  it('whose sender leaves is nowhere, and its place is free again', async () => {
    const slots = { ...createInputSlots(), uploads: createSlots({ total: 1, perOwner: 1 }) };
    const api = await startApi(suite.db, { ...room.parts, inputSlots: slots });
    try {
      const tenant = await newTenant(suite.db);
      const before = (await room.files()).size;
      await cutForm(api.url, tenant, [...ANIMATE, FILE], 40);
      const release = await eventually(async () => slots.uploads.take(tenant.id) ?? undefined, 60_000);
      await eventually(async () => ((await room.files()).size === before ? true : undefined), 60_000);
      expect(await inputsOf(tenant)).toEqual([]);
      // All places taken: a form with a file waits its turn, one without a file needs none.
      const busy = await sendForm(api.url, tenant, [...ANIMATE, FILE]);
      expect([...errorOf(busy), busy.headers['retry-after']]).toEqual([503, 'busy', null, '5']);
      const text: Part[] = [
        ['model', WISH.model],
        ['prompt', WISH.prompt],
      ];
      expect((await sendForm(api.url, tenant, text)).status).toBe(200);
      release();
      expect((await sendForm(api.url, tenant, [...ANIMATE, FILE])).status).toBe(200);
    } finally {
      await api.close();
    }
  });
});
