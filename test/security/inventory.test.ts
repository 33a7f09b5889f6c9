/** API5, API8, API9: what is open to whom, and what listens where. */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadApiConfig, loadWorkerConfig } from '../../src/config.ts';
import { freePorts } from '../../src/dev/ports.ts';
import { ROUTES } from '../../src/api/routes/index.ts';
import { isWatchable } from '../../src/api/route.ts';
import { startApi, stubDb } from '../api/api.ts';
import { send } from '../api/client.ts';
import { startDarkroom, type Darkroom } from '../support/darkroom.ts';

/** The only routes without a key; one more is a decision, not an accident. */
const OPEN: Readonly<Record<string, string>> = {
  'get /files/outputs/{generation}/{index}': 'link',
  'get /files/inputs/{input}': 'link',
  'post /callbacks/{provider}/{token}': 'callback',
  'post /callbacks/{provider}': 'callback',
  'get /healthz': 'none',
  'get /readyz': 'none',
  'get /metrics': 'none',
  'get /openapi.json': 'none',
  'get /docs': 'none',
};

describe('API5 every route asks for what its place promises', () => {
  const name = ({ method, path }: (typeof ROUTES)[number]) => `${method} ${path}`;
  /** A path of this form, with ids of the right form that nobody has. */
  const filled = (path: string) =>
    path.replaceAll('{id}', `gen_${'0'.repeat(26)}`).replaceAll(/\{\w+\}/g, 'x');

  it('the routes without a key are these and no others', () => {
    const open = ROUTES.filter(({ auth }) => ['none', 'callback', 'link'].includes(auth));
    expect(Object.fromEntries(open.map((route) => [name(route), route.auth]))).toEqual(OPEN);
    for (const route of ROUTES) {
      if (route.path.startsWith('/admin/'))
        expect([name(route), route.auth]).toEqual([name(route), 'operator']);
      if (isWatchable(route)) expect(route.method).toBe('get');
    }
  });

  it.each(ROUTES.filter((route) => !(name(route) in OPEN)).map((route) => [name(route), route] as const))(
    '%s: 401 without a key, 403 for a key of another kind, before anything is read',
    async (_name, route) => {
      const without = stubDb();
      const other =
        route.auth === 'operator'
          ? stubDb({ scopes: ['generations', 'webhooks', 'credits:grant'] })
          : stubDb({ scopes: ['admin'], tenantId: null });
      const elsewhere = route.auth === 'operator' ? stubDb({ scopes: ['admin'] }) : stubDb({ scopes: [] });
      const path = filled(route.path);
      for (const [stub, status, code] of [
        [without, 401, 'api_key_missing'],
        [other, 403, 'scope_missing'],
        [elsewhere, 403, 'scope_missing'],
      ] as const) {
        const api = await startApi(stub.db);
        const answer = await send(api.url, {
          method: route.method.toUpperCase(),
          path,
          headers: code === 'api_key_missing' ? {} : { Authorization: `Bearer ${stub.apiKey}` },
        });
        // In the other shape of errors under /v1/videos.
        const told = answer.json() as { readonly code?: string; readonly error?: { readonly code: string } };
        expect([answer.status, told.code ?? told.error?.code]).toEqual([status, code]);
        expect(stub.calls).toEqual([]);
        await api.close();
      }
    },
  );
});

describe('API8 how the API is set up', () => {
  it('no origin may read an answer but those with a watch token; no TRACE, no CONNECT; nothing is named', async () => {
    const stub = stubDb();
    const api = await startApi(stub.db);
    const origin = { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' };
    for (const method of ['GET', 'POST', 'OPTIONS', 'TRACE', 'PROPFIND', 'HEAD']) {
      for (const path of ['/v1/generations', '/admin/v1/tenants', '/healthz', '/nothing', '/']) {
        const answer = await send(api.url, { method, path, headers: origin });
        const cors = Object.keys(answer.headers).filter((header) => header.startsWith('access-control-'));
        expect([method, path, cors]).toEqual([method, path, []]);
        expect(answer.status === 200).toBe(path === '/healthz' && ['GET', 'HEAD'].includes(method));
        expect(answer.headers['server']).toBeUndefined();
        expect(answer.headers['x-powered-by']).toBeUndefined();
        expect(answer.headers).toMatchObject({
          'x-content-type-options': 'nosniff',
          'x-frame-options': 'DENY',
          'referrer-policy': 'no-referrer',
          'cross-origin-resource-policy': 'same-origin',
          'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        });
      }
    }
    await api.close();
  });

  it('what a client says of another host, path or method changes nothing', async () => {
    const stub = stubDb();
    const api = await startApi(stub.db);
    const forged = {
      Host: 'evil.example',
      'X-Forwarded-Host': 'evil.example',
      'X-Forwarded-For': '127.0.0.1',
      'X-Forwarded-Proto': 'https',
      'X-Original-Url': '/healthz',
      'X-Rewrite-Url': '/healthz',
      'X-Http-Method-Override': 'GET',
      Forwarded: 'for=127.0.0.1;host=evil.example',
    };
    const answer = await send(api.url, { method: 'POST', path: '/healthz', headers: forged });
    expect(answer.status).toBe(405);
    const docs = await send(api.url, { path: '/docs', headers: forged });
    expect([docs.status, docs.text.includes('evil.example')]).toEqual([200, false]);
    const document = await send(api.url, { path: '/openapi.json', headers: forged });
    expect(document.text).not.toContain('evil.example');
    await api.close();
  });
});

/** Local addresses on which a process listens, from the kernel. */
async function listening(pid: number): Promise<readonly string[]> {
  const folder = `/proc/${pid}/fd`;
  const links = await Promise.all(
    (await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => '')),
  );
  const inodes = new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/${pid}/net/${name}`, 'utf8')),
  );
  return tables.flatMap((table) =>
    table
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((cells) => cells[3] === '0A' && inodes.has(cells[9] ?? ''))
      .map((cells) => cells[1] ?? ''),
  );
}

/** 127.0.0.1 as the kernel writes it. */
const LOOPBACK = '0100007F';

describe.skipIf(process.platform !== 'linux')('API9 what listens, and where', () => {
  let room: Darkroom;
  beforeAll(async () => {
    room = await startDarkroom({ worker: false });
  });
  afterAll(() => room?.stop());

  it('API and worker listen on 127.0.0.1 by default, on their own port and no other', async () => {
    const [metricsPort = 0] = await freePorts(1);
    const worker = await room.startWorker(undefined, { METRICS_PORT: String(metricsPort) });
    const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');
    const apiPort = Number(new URL(room.apiUrl).port);
    expect(await listening(room.running.api.pid)).toEqual([`${LOOPBACK}:${hex(apiPort)}`]);
    // The second one is that of Temporal's SDK, from which the worker reads its metrics.
    const ofWorker = await listening(worker.pid);
    expect(ofWorker).toContain(`${LOOPBACK}:${hex(metricsPort)}`);
    expect(ofWorker.map((address) => address.split(':')[0])).toEqual([LOOPBACK, LOOPBACK]);
  });

  it('so do Temporal and its UI, and PostgreSQL, as `npm start` runs them', async () => {
    const ports = [
      room.temporal.address.split(':')[1],
      new URL(room.temporal.uiUrl).port,
      new URL(room.env['DATABASE_URL']!).port,
    ].map(Number);
    const table = await readFile('/proc/net/tcp', 'utf8').then((four) =>
      readFile('/proc/net/tcp6', 'utf8').then((six) => four + six),
    );
    const open = table
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((cells) => cells[3] === '0A')
      .map((cells) => (cells[1] ?? '').split(':') as [string, string]);
    for (const port of ports) {
      const on = open.filter(([, hex]) => parseInt(hex, 16) === port).map(([address]) => address);
      expect([port, on]).toEqual([port, [LOOPBACK]]);
    }
  });

  it('the settings say 127.0.0.1 unless told otherwise', () => {
    const { HOST: _host, ...env } = room.env;
    expect([loadApiConfig(env).host, loadWorkerConfig({ ...env, METRICS_PORT: '1' }).metrics?.host]).toEqual([
      '127.0.0.1',
      '127.0.0.1',
    ]);
  });
});
