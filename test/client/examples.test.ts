import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../src/dev/ports.ts';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { eventually } from '../simulators/control.ts';
import { fastCatalogue } from '../support/catalogue.ts';
import { startDarkroom, type Darkroom } from '../support/darkroom.ts';
import { get } from '../support/generations.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);
let room: Darkroom;
let folder: string;
let env: NodeJS.ProcessEnv;

/** A tenant's project: the packed client with the one package that it needs, Express, and the examples. */
beforeAll(async () => {
  const models = fastCatalogue.models.map((model) =>
    model.id === 'by-callback' ? { ...model, id: 'infro-video' } : model,
  );
  const port = (await freePorts(1))[0] ?? 0;
  const [darkroom, project] = await Promise.all([
    startDarkroom({ catalogue: { models }, allow: [`127.0.0.1:${port}`] }),
    mkdtemp(join(tmpdir(), 'darkroom-examples-')),
  ]);
  room = darkroom;
  folder = project;
  const { stdout } = await run(process.execPath, ['scripts/client-pack.mjs', folder], { cwd: ROOT });
  const modules = join(folder, 'node_modules');
  await mkdir(join(modules, 'darkroom'), { recursive: true });
  const into = ['--strip-components=1', '-C', join(modules, 'darkroom')];
  await run('tar', ['-xzf', stdout.trim(), ...into]);
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers']) {
    await cp(join(ROOT, 'node_modules', name), join(modules, name), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules', 'express'), join(modules, 'express'));
  await cp(join(ROOT, 'docs', 'examples'), folder, { recursive: true });
  const key = await createApiKey(
    { db: room.db },
    { tenantId: room.tenantId, scopes: ['generations', 'webhooks'], label: 'examples' },
  );
  env = { PATH: process.env['PATH'], DARKROOM_URL: room.apiUrl, DARKROOM_KEY: key.text, PORT: String(port) };
});
afterAll(async () => {
  await room?.stop();
  await rm(folder, { recursive: true, force: true });
});

const sha256 = async (file: string) =>
  createHash('sha256')
    .update(await readFile(file))
    .digest('hex');

async function expectFile(id: string, file: string): Promise<void> {
  const { outputs } = (await get(room, id)) as unknown as { outputs: { sha256: string }[] };
  expect(await sha256(join(folder, file))).toBe(outputs[0]!.sha256);
}

describe('the packed client', () => {
  it('brings only itself: no server dependency, no file of the server', async () => {
    const packed = join(folder, 'node_modules', 'darkroom');
    const { dependencies } = JSON.parse(await readFile(join(packed, 'package.json'), 'utf8')) as {
      dependencies: object;
    };
    expect(Object.keys(dependencies)).toEqual(['openapi-fetch']);
    for (const name of await readdir(join(packed, 'dist'))) {
      const imports = (await readFile(join(packed, 'dist', name), 'utf8')).matchAll(
        /(?:from|import) ["']([^"']+)["']/g,
      );
      for (const [, from] of imports) expect(from).toMatch(/^\.\/[a-z-]+\.js$|^openapi-fetch$/);
    }
  });
});

describe('the examples', () => {
  it('the Node script makes a video and keeps the file', async () => {
    const { stdout } = await run(process.execPath, ['generate.mjs', 'a script', 'script.mp4'], {
      cwd: folder,
      env,
    });
    const [, id = ''] = /^(gen_\w+): 100 credits held$/m.exec(stdout) ?? [];
    expect(stdout).toMatch(/^created queued$[^]*^stage waiting$[^]*^terminal done$/m);
    expect(stdout).toMatch(/^script\.mp4: \d+ bytes, 100 credits$/m);
    await expectFile(id, 'script.mp4');
  });

  it('the shell script does the same with curl', async () => {
    const { stdout } = await run('sh', ['generate.sh', 'a shell', 'shell.mp4'], { cwd: folder, env });
    await expectFile(stdout.split('\n')[0]!, 'shell.mp4');
  });

  it('the Express app creates once per intent, hands out a token, and takes the webhook', async () => {
    const post = (url: string, body: object, headers: Record<string, string> = {}) =>
      fetch(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
    const auth = { Authorization: `Bearer ${env['DARKROOM_KEY']}`, 'Idempotency-Key': 'app' };
    const url = `http://127.0.0.1:${env['PORT']}`;
    const endpoint = await post(
      `${room.apiUrl}/v1/webhook-endpoints`,
      { url: `${url}/webhooks/darkroom` },
      auth,
    );
    const { secret } = (await endpoint.json()) as { secret: string };
    const app = spawn(process.execPath, ['app.mjs'], {
      cwd: folder,
      env: { ...env, WEBHOOK_SECRET: secret },
    });
    let output = '';
    app.stdout.on('data', (text: Buffer) => (output += text.toString()));
    try {
      await eventually(async () => (output.includes(url) ? true : undefined), 60_000);
      const request = { prompt: 'an app', intent: 'intent-1' };
      const [first, second] = await Promise.all([
        post(`${url}/videos`, request),
        post(`${url}/videos`, request),
      ]);
      const made = (await first.json()) as { id: string; watchToken: string };
      expect(await second.json()).toMatchObject({ id: made.id });
      const watched = await fetch(
        `${room.apiUrl}/v1/generations/${made.id}/events?watch_token=${made.watchToken}`,
      );
      expect(await watched.text()).toMatch(/^event: terminal$/m);
      await eventually(
        async () => (output.includes(`webhook generation.succeeded ${made.id}`) ? true : undefined),
        90_000,
      );
      expect((await post(`${url}/webhooks/darkroom`, { forged: true })).status).toBe(400);
      for (const path of ['/', '/client/index.js', '/openapi-fetch/index.mjs']) {
        expect((await fetch(`${url}${path}`)).status).toBe(200);
      }
    } finally {
      app.kill();
    }
  });
});
