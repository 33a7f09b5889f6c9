import { createHash } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { AppDependencies } from '../../src/api/app.ts';
import { openDb, recordInput, type Db } from '../../src/db/index.ts';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { createFileLinks, type FileLinks, type LinkedFile } from '../../src/domain/file-links.ts';
import { newId } from '../../src/domain/ids.ts';
import { createSlots } from '../../src/services/slots.ts';
import { createStorage, type Storage } from '../../src/storage/index.ts';
import { violations } from '../db/database.ts';
import { accept, observe, send as sendToProvider, store } from '../db/fixtures.ts';
import { finish } from '../db/finish.ts';
import { createTestDatabase } from '../support/stack.ts';
import { startApi, testKeyring, type TestApi } from './api.ts';
import type { Sent } from './client.ts';
import { create, get, newTenant, type TestTenant } from './tenants.ts';

export interface FileSuite {
  readonly db: Db;
  readonly api: TestApi;
  readonly storage: Storage;
  /** Those of the API, under its key and clock. */
  readonly links: FileLinks;
  /** Moves the clock of the API. */
  readonly clock: { aheadMs: number };
  /** Another API on the same database and files. */
  start(overrides: Partial<AppDependencies>): Promise<TestApi>;
}

/** The API with real files, on a database of one test file; the invariants are checked after each of its tests. */
export function useFiles(): FileSuite {
  const clock = { aheadMs: 0 };
  const nowMs = () => Date.now() + clock.aheadMs;
  const links = createFileLinks(testKeyring(), null, nowMs);
  let opened:
    | { db: Db; api: TestApi; storage: Storage; others: TestApi[]; close(): Promise<void> }
    | undefined;
  const need = () => {
    if (opened === undefined) throw new Error('The API runs only while tests run.');
    return opened;
  };
  beforeAll(async () => {
    const folder = temporaryFolder('files');
    const database = await createTestDatabase();
    const db = openDb(database.url, { poolSize: 10, connectWithinMs: 60_000 });
    const storage = createStorage(`file:${folder.path}`);
    const api = await startApi(db, { storage, links, nowMs });
    const others: TestApi[] = [];
    opened = {
      db,
      api,
      storage,
      others,
      async close() {
        await Promise.all([api, ...others].map((each) => each.close()));
        await db.close();
        await database.drop();
        await folder.remove();
      },
    };
  });
  afterEach(async () => {
    clock.aheadMs = 0;
    expect(await violations(need().db)).toEqual({});
  });
  afterAll(() => opened?.close());
  return {
    clock,
    links,
    get db() {
      return need().db;
    },
    get api() {
      return need().api;
    },
    get storage() {
      return need().storage;
    },
    async start(overrides) {
      const { db, storage, others } = need();
      const api = await startApi(db, { storage, links, nowMs, ...overrides });
      others.push(api);
      return api;
    },
  };
}

export const CONTENT = Buffer.from('0123456789'.repeat(10));

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function keep(storage: Storage, path: string, bytes: Uint8Array): Promise<void> {
  const file = await storage.create(path);
  await file.write(bytes);
  await file.commit();
}

/** A generation of this tenant that succeeded with these bytes; its id. */
export async function succeeded(
  { db, api, storage }: Pick<FileSuite, 'db' | 'api' | 'storage'>,
  tenant: TestTenant,
  { bytes = CONTENT, mediaType = 'video/mp4' }: { bytes?: Buffer; mediaType?: string } = {},
): Promise<string> {
  const id = (await create(api.url, tenant)).json()['id'] as string;
  await sendToProvider(db, id);
  await accept(db, id);
  await observe(db, id, 'succeeded');
  const path = `${id}/0-1`;
  await keep(storage, path, bytes);
  await store(db, id, { path, bytes: bytes.length, sha256: sha256(bytes), mediaType });
  await finish(db, id);
  return id;
}

/** A stored input of this tenant; its id. */
export async function storedInput(
  { db, storage }: Pick<FileSuite, 'db' | 'storage'>,
  tenant: Pick<TestTenant, 'id'>,
): Promise<string> {
  const inputId = newId('inp');
  const path = `${inputId}/0-1`;
  await keep(storage, path, CONTENT);
  await recordInput(db, {
    inputId,
    tenantId: tenant.id,
    source: 'upload',
    path,
    bytes: CONTENT.length,
    sha256: sha256(CONTENT),
    mediaType: 'image/png',
    width: 1,
    height: 1,
    durationSeconds: null,
    idempotencyKey: inputId,
    keepMs: 86_400_000,
  });
  return inputId;
}

export interface ShownOutput {
  readonly index: number;
  readonly url: string | null;
  readonly url_expires_at: string | null;
  readonly expires_at: string;
  readonly sha256: string;
}

/** The first output of a generation, as its tenant sees it. */
export async function outputOf(url: string, tenant: TestTenant, id: string): Promise<ShownOutput> {
  const { outputs } = (await get(url, tenant, `/v1/generations/${id}`)).json() as { outputs: ShownOutput[] };
  return outputs[0]!;
}

/** The link of the first output. */
export async function linkOf(url: string, tenant: TestTenant, id: string): Promise<string> {
  const output = await outputOf(url, tenant, id);
  if (output.url === null) throw new Error('the output has no link');
  return output.url;
}

/** A link of this tenant to whatever is named. */
export function signedLink(
  { links }: Pick<FileSuite, 'links'>,
  tenant: Pick<TestTenant, 'id'>,
  file: LinkedFile,
): string {
  return links.link({ tenantId: tenant.id, linkVersion: 1 }, file)!.url;
}

/** A link to a new output with these bytes, and what it is of. */
export async function oneLink(
  suite: FileSuite,
  bytes = CONTENT,
): Promise<{ link: string; id: string; tenantId: string }> {
  const tenant = await newTenant(suite.db);
  const id = await succeeded(suite, tenant, { bytes });
  return { link: await linkOf(suite.api.url, tenant, id), id, tenantId: tenant.id };
}

/** Moves the clock of the links to the first moment of a window: a link made now is the same text, and whole, for a while. */
export function toWindowStart({ clock }: FileSuite): void {
  clock.aheadMs = 900_000 - (Date.now() % 900_000) + 1;
}

/** Slots that tell how many are taken. */
export function countedSlots(total: number) {
  const slots = createSlots({ total, perOwner: total });
  const counted = { taken: 0 };
  return {
    counted,
    streams: {
      take(owner: string) {
        const release = slots.take(owner);
        if (release === null) return null;
        counted.taken += 1;
        let held = true;
        return () => {
          release();
          if (held) counted.taken -= 1;
          held = false;
        };
      },
    },
  };
}

export interface FileAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** One request over a connection of its own; rejects when the answer is cut. */
export function fetchFile(baseUrl: string, path: string, sent: Omit<Sent, 'path'> = {}): Promise<FileAnswer> {
  const { method = 'GET', headers = {} } = sent;
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(baseUrl);
    const outgoing = httpRequest(
      { host: hostname, port, method, path, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            bytes: Buffer.concat(chunks),
          }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end();
  });
}
