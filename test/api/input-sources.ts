import { randomUUID } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll } from 'vitest';
import { catalogueSchema, type Model } from '../../src/domain/catalogue.ts';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { png, wav } from '../storage/media.ts';
import type { Answer } from './client.ts';
import { INFECTED, PICTURE, UNSCANNABLE, useFiles, useFileServer } from './inputs.ts';
import { useApi } from './suite.ts';
import { create, type TestTenant } from './tenants.ts';

/** In every answer of these servers that is no picture: it must never come back to a tenant. */
export const SECRET = 'secret-of-the-inside';

const animate = DEFAULT_CATALOGUE.models.find(({ id }) => id === 'animate-image') as Model;
/** One model whose image may be a small file of at least 300 pixels a side. */
export const catalogue = catalogueSchema.parse({
  models: [{ ...animate, input: { ...animate.input, image_url: { maxBytes: 5_000, minSide: 300 } } }],
});

const FILES: Readonly<Record<string, Buffer>> = {
  '/boat.png': PICTURE,
  '/small.png': png(299, 600),
  '/cut.png': PICTURE.subarray(0, 50),
  '/sound.wav': wav(100),
  '/page.html': Buffer.from(`<html>${SECRET}</html>`),
  '/evil.png': INFECTED,
  '/unscanned.png': UNSCANNABLE,
  '/large.png': Buffer.concat([PICTURE, Buffer.alloc(5_000)]),
};

function serve(path: string, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(path, 'http://outer');
  const redirect = (location: string) => response.writeHead(302, { location }).end(SECRET);
  const file = FILES[pathname];
  if (file !== undefined) {
    response.setHeader('content-type', 'text/plain').end(file);
    return;
  }
  switch (pathname) {
    case '/endless.png':
      response.write(PICTURE);
      endless(response);
      break;
    case '/hop': {
      const left = Number(searchParams.get('n'));
      redirect(left === 0 ? '/boat.png' : `/hop?n=${left - 1}`);
      break;
    }
    case '/to':
      redirect(searchParams.get('url') ?? '');
      break;
    case '/status':
      response.writeHead(Number(searchParams.get('code'))).end(SECRET);
      break;
    case '/silent':
      response.writeHead(200, { 'content-length': 100 }).write('x');
      break;
    case '/reset':
      response.destroy();
      break;
    case '/gzip':
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(PICTURE);
      break;
    default:
      response.writeHead(404).end(SECRET);
  }
}

function endless(response: ServerResponse): void {
  if (response.destroyed) return;
  if (response.write(Buffer.alloc(16_384))) setImmediate(() => endless(response));
  else response.once('drain', () => endless(response));
}

/** The API with a server that may be asked for files (`outer`), one that may not (`inner`), and ports without any. */
export function useInputSources() {
  const room = useFiles();
  const suite = useApi({ ...room.parts, catalogue });
  const inner = useFileServer((_path, response) => response.end(SECRET));
  const outer = useFileServer(serve);
  const mute = createServer((socket) => socket.on('error', () => {}));
  const ports = { shut: 0, mute: 0 };
  const listen = (server: typeof mute) =>
    new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
    });
  beforeAll(async () => {
    const closing = createServer();
    [ports.mute, ports.shut] = await Promise.all([listen(mute), listen(closing)]);
    closing.close();
    const allowed = [outer.port, ports.mute, ports.shut];
    room.allow.push(...allowed.map((port) => ({ host: '127.0.0.1', port })));
    room.names.set('private.example', '10.0.0.7');
    room.names.set('loopback.example', '127.0.0.1');
    room.names.set('mapped.example', '169.254.169.254');
  });
  afterAll(() => {
    mute.close();
  });
  const ask = (tenant: TestTenant, image_url: string, key: string = randomUUID()): Promise<Answer> =>
    create(suite.api.url, tenant, { body: askBody(image_url), key, headers: { 'X-Request-Id': 'same' } });
  return {
    room,
    suite,
    inner,
    outer,
    ports,
    /** Creates a generation from this image. */
    ask,
    askFor: (tenant: TestTenant, path: string) => ask(tenant, `${outer.url}${path}`),
  };
}

export function askBody(image_url: string) {
  return { model: 'animate-image', input: { prompt: 'waves', image_url } };
}
