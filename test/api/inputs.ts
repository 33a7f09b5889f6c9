import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { createOutboundHttp, checkUrl, type AllowEntry } from '../../src/net/index.ts';
import { createStorage, type FileScan } from '../../src/storage/index.ts';
import { eventually } from '../simulators/control.ts';
import { png } from '../storage/media.ts';
import { send, type Answer, type Sent } from './client.ts';
import type { TestTenant } from './tenants.ts';

/** A picture that every field takes. */
export const PICTURE = png(640, 360);

/** What a scanner of these tests finds in a file; it stands behind the picture, where no reader looks. */
export const INFECTED = Buffer.concat([PICTURE, Buffer.from('EVIL')]);
export const UNSCANNABLE = Buffer.concat([PICTURE, Buffer.from('SCANNER DOWN')]);

/** Reads the whole stored file, as a real scanner does. */
const scan: FileScan = async ({ read }) => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of await read()) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('latin1');
  if (text.includes('SCANNER DOWN')) return { kind: 'failed', reason: 'error' };
  return { kind: text.includes('EVIL') ? 'infected' : 'clean' };
};

export interface FileRoom {
  readonly folder: string;
  /** Names that resolve, and to what. */
  readonly names: Map<string, string>;
  /** May be called although it is on this machine; read at each call. */
  readonly allow: AllowEntry[];
  /** Every file of the storage, temporary ones included, with its bytes. */
  files(): Promise<Map<string, Buffer>>;
  /** What the API is started with. */
  readonly parts: ReturnType<typeof partsOf>;
}

function partsOf(folder: string, names: ReadonlyMap<string, string>, allow: readonly AllowEntry[]) {
  const lookup = async (name: string) => {
    const address = names.get(name);
    return address === undefined ? [] : [{ address, family: 4 }];
  };
  return {
    storage: createStorage(`file://${folder}`),
    scan,
    http: createOutboundHttp({ allow, lookup }),
    checkUrl: (url: string) => checkUrl(url, allow).ok,
  };
}

/** A storage folder, a scanner and a way out for one test file. */
export function useFiles(): FileRoom {
  const folder = temporaryFolder('inputs');
  const names = new Map<string, string>();
  const allow: AllowEntry[] = [];
  const parts = partsOf(folder.path, names, allow);
  afterAll(async () => {
    await parts.http.close();
    await folder.remove();
  });
  return {
    folder: folder.path,
    names,
    allow,
    parts,
    async files() {
      const found = await readdir(folder.path, { recursive: true, withFileTypes: true }).catch(() => []);
      const paths = found
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name));
      // A temporary file may be gone when it is read.
      const read = await Promise.all(
        paths.map(async (path) => ({ path, bytes: await readFile(path).catch(() => null) })),
      );
      return new Map(
        read.flatMap(({ path, bytes }) =>
          bytes === null ? [] : [[path.slice(folder.path.length + 1), bytes] as const],
        ),
      );
    },
  };
}

export interface Upload {
  readonly key?: string;
  readonly body?: Uint8Array;
  readonly headers?: Sent['headers'];
}

/** `POST /v1/inputs` of this tenant. */
export function upload(url: string, tenant: TestTenant, sent: Upload = {}): Promise<Answer> {
  const { key = randomUUID(), body = PICTURE, headers = {} } = sent;
  return send(url, {
    method: 'POST',
    path: '/v1/inputs',
    headers: {
      Authorization: `Bearer ${tenant.key}`,
      'Content-Type': 'image/png',
      'Idempotency-Key': key,
      ...headers,
    },
    body,
  });
}

export interface FileServer {
  readonly port: number;
  readonly url: string;
  /** Connections so far, and requests with their headers. */
  connections: number;
  readonly requests: { readonly path: string; readonly headers: IncomingMessage['headers'] }[];
}

/** A server on this machine for one test file; `answer` is asked for every request. */
export function useFileServer(answer: (path: string, response: ServerResponse) => void): FileServer {
  const state = { port: 0, url: '', connections: 0, requests: [] as FileServer['requests'] };
  const listener: RequestListener = (request, response) => {
    state.requests.push({ path: request.url ?? '', headers: request.headers });
    answer(request.url ?? '', response);
  };
  const server = createServer(listener);
  server.on('connection', () => {
    state.connections += 1;
  });
  beforeAll(async () => {
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    state.port = (server.address() as AddressInfo).port;
    state.url = `http://127.0.0.1:${state.port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return state;
}

/** The files in the storage that were not there before. */
export async function newFiles(room: FileRoom, during: () => Promise<unknown>): Promise<Buffer[]> {
  const before = await room.files();
  await during();
  const after = await room.files();
  return [...after].filter(([path]) => !before.has(path)).map(([, bytes]) => bytes);
}

/** An upload of which the storage has the first bytes and no more. */
export async function begin(
  room: FileRoom,
  url: string,
  { key }: TestTenant,
  idempotencyKey: string = randomUUID(),
) {
  const temporary = async () =>
    [...(await room.files()).keys()].filter((path) => path.startsWith('tmp/')).length;
  const before = await temporary();
  const outgoing = httpRequest({
    port: new URL(url).port,
    method: 'POST',
    path: '/v1/inputs',
    headers: {
      Authorization: `Bearer ${key}`,
      'Idempotency-Key': idempotencyKey,
      'Content-Length': String(PICTURE.length),
    },
  });
  const status = new Promise<number>((resolve) => {
    outgoing.on('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    outgoing.on('error', () => resolve(0));
  });
  outgoing.write(PICTURE.subarray(0, 40));
  await eventually(async () => ((await temporary()) > before ? true : undefined), 60_000);
  return {
    end() {
      outgoing.end(PICTURE.subarray(40));
      return status;
    },
    async cut() {
      outgoing.destroy();
      await eventually(async () => ((await temporary()) > before ? undefined : true), 60_000);
    },
  };
}
