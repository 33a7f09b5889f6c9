/** Every secret of an operator is changed on running processes, as OPERATIONS.md says, while work goes on. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Child } from '../../src/dev/child.ts';
import { freePorts } from '../../src/dev/ports.ts';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom, type Darkroom } from '../support/darkroom.ts';
import { ask, call, expectPromise, get, until, untilEnd, uniquePrompt } from '../support/generations.ts';
import { askHeld, expectDelivered, release } from '../support/held.ts';
import { Receiver, verifiedEvent } from '../support/receiver.ts';
import { startKeyedInfro, type KeyedInfro } from './keyed-infro.ts';

// Each scenario stops and starts processes.
vi.setConfig({ testTimeout: 300_000 });

const [KEY, NEXT_KEY] = ['infro-key-of-before', 'infro-key-of-after'];
let room: Darkroom;
let infro: KeyedInfro;
let receiver: Receiver;
let hooks: string;
beforeAll(async () => {
  [receiver, infro] = await Promise.all([Receiver.start(), startKeyedInfro([KEY, NEXT_KEY])]);
  room = await startDarkroom({
    allow: [`127.0.0.1:${receiver.port}`, new URL(infro.url).host],
    variables: { PROVIDER_INFRO_BASE_URL: infro.url, PROVIDER_INFRO_API_KEY: KEY },
  });
  infro.simulator = room.sim.url;
  ({ text: hooks } = await createApiKey(
    { db: room.db },
    { tenantId: room.tenantId, scopes: ['webhooks'], label: 'hooks' },
  ));
});
afterAll(async () => {
  await room?.stop();
  await Promise.all([receiver?.close(), infro?.close()]);
});

let running: { api: Child; worker: Child } | undefined;
/** Stops both processes and starts them with these settings, as a restart with a new environment does. */
async function restart(settings: NodeJS.ProcessEnv): Promise<void> {
  const { api, worker } = running ?? room.running;
  await Promise.all([api.stop(30_000, 'SIGINT'), worker.stop(60_000)]);
  const [newApi, newWorker] = await Promise.all([
    room.startApi(undefined, undefined, settings),
    room.startWorker(undefined, settings),
  ]);
  running = { api: newApi, worker: newWorker };
}

async function asAdmin(method: string, path: string, key: string, body?: object) {
  const answer = await fetch(`${room.apiUrl}/admin/v1/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: JSON.parse(text) as Record<string, unknown> };
}

const credentialOf = async (id: string) =>
  (await room.db.prisma.submission.findMany({ where: { generationId: id } })).map(
    ({ credential }) => credential,
  );

/** The keys with which INFRO was asked about the job of a generation. */
async function keysFor(id: string): Promise<readonly string[]> {
  const { providerJobId } = await room.db.prisma.submission.findFirstOrThrow({ where: { generationId: id } });
  const asked = infro.seen.filter(({ path }) => path.includes(providerJobId ?? '?'));
  return [...new Set(asked.map(({ key }) => key))];
}

const ringKey = (id: string, byte: number) => `${id}:${Buffer.alloc(32, byte).toString('base64')}`;
const [OLD, NEW] = [ringKey('test', 7), ringKey('new', 8)];

describe('API keys', () => {
  it('of a tenant: old and new work side by side, the old one ends at its revocation, in all processes', async () => {
    const { text: admin } = await createApiKey(
      { db: room.db },
      { tenantId: null, scopes: ['admin'], label: 'a' },
    );
    const made = await asAdmin('POST', 'keys', admin, {
      tenant: room.tenantId,
      scopes: ['generations'],
      label: 'old',
      reason: 'rotation',
    });
    const { key, id } = made.body as { key: string; id: string };
    const [port = 0] = await freePorts(1);
    const second = await room.startApi(undefined, port);
    onTestFinished(async () => {
      await second.stop(2_000, 'SIGKILL');
    });
    /** What both processes say, each asked before: a key that one remembers would still work there. */
    const models = (by: string) =>
      Promise.all(
        [room.apiUrl, `http://127.0.0.1:${port}`].map(
          async (url) =>
            (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${by}` } })).status,
        ),
      );
    expect([await models(key), await models(room.key)]).toEqual([
      [200, 200],
      [200, 200],
    ]);
    expect((await asAdmin('DELETE', `keys/${id}?reason=rotation`, admin)).status).toBe(200);
    expect([await models(key), await models(room.key)]).toEqual([
      [401, 401],
      [200, 200],
    ]);
  });

  it('of an operator: the new one revokes the old one', async () => {
    const [before, after] = await Promise.all(
      ['before', 'after'].map((label) =>
        createApiKey({ db: room.db }, { tenantId: null, scopes: ['admin'], label }),
      ),
    );
    expect((await asAdmin('GET', 'tenants', before!.text)).status).toBe(200);
    expect((await asAdmin('DELETE', `keys/${before!.id}?reason=rotation`, after!.text)).status).toBe(200);
    expect((await asAdmin('GET', 'tenants', before!.text)).status).toBe(401);
    expect((await asAdmin('GET', 'tenants', after!.text)).status).toBe(200);
  });
});

describe('a provider’s API key', () => {
  it('jobs under the old one end with it, new ones use the new one, then the old one is taken away', async () => {
    const old = await askHeld(room);
    await restart({ PROVIDER_INFRO_API_KEY_NEXT: NEXT_KEY, PROVIDER_INFRO_CREDENTIAL: 'next' });
    const fresh = await ask(room, 'by-callback', uniquePrompt('under the new key'));
    await untilEnd(room, fresh.id);
    await expectPromise(room, fresh, { state: 'succeeded', jobs: 1 });
    await release(room, old);
    await expectDelivered(room, old);
    expect([await credentialOf(old.id), await credentialOf(fresh.id)]).toEqual([['default'], ['next']]);
    expect([await keysFor(old.id), await keysFor(fresh.id)]).toEqual([[KEY], [NEXT_KEY]]);
    // The provider takes the old key no more.
    infro.keys = [NEXT_KEY];
    await restart({
      PROVIDER_INFRO_API_KEY: undefined,
      PROVIDER_INFRO_API_KEY_NEXT: NEXT_KEY,
      PROVIDER_INFRO_CREDENTIAL: 'next',
    });
    const last = await ask(room, 'by-callback', uniquePrompt('without the old key'));
    await untilEnd(room, last.id);
    await expectPromise(room, last, { state: 'succeeded', jobs: 1 });
    expect([await credentialOf(last.id), await keysFor(last.id)]).toEqual([['next'], [NEXT_KEY]]);
    infro.keys = [KEY, NEXT_KEY];
    await restart({});
  });
});

describe('a provider’s webhook secret', () => {
  const wanted = (secret: string) => `whsec_${Buffer.from(secret).toString('base64')}`;
  const callbacks = async (id: string) =>
    room.db.prisma.callback.count({ where: { submission: { generationId: id } } });

  it('both count while the provider changes over, then only the new one', async () => {
    const before = room.env['PROVIDER_INFRO_WEBHOOK_SECRET']!;
    const after = wanted('the next secret of infro');
    await restart({ PROVIDER_INFRO_WEBHOOK_SECRET: `${after},${before}` });
    const one = await ask(room, 'by-callback', uniquePrompt('signed with the old one'));
    await untilEnd(room, one.id);
    await room.sim.post('secrets', { secrets: [after] });
    const two = await ask(room, 'by-callback', uniquePrompt('signed with the new one'));
    await untilEnd(room, two.id);
    for (const { id } of [one, two]) {
      await eventually(async () => ((await callbacks(id)) > 0 ? true : undefined), 60_000);
    }
    await restart({ PROVIDER_INFRO_WEBHOOK_SECRET: after });
    const three = await ask(room, 'by-callback', uniquePrompt('only the new one'));
    await untilEnd(room, three.id);
    await eventually(async () => ((await callbacks(three.id)) > 0 ? true : undefined), 60_000);
    // What is signed with the old one proves nothing now: found by a look instead.
    await room.sim.post('secrets', { secrets: [before] });
    const four = await ask(room, 'early-look', uniquePrompt('only the old one'));
    await untilEnd(room, four.id);
    expect(await callbacks(four.id)).toBe(0);
    for (const asked of [one, two, three, four])
      await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    await restart({});
  });
});

describe('KEYRING', () => {
  it('removal of the old key while a job under it still expects callbacks is refused by name, and not ready', async () => {
    const held = await askHeld(room);
    await until(room, held.id, ({ stage }) => stage === 'waiting');
    const wanted = /lacks the key test, under which jobs still expect callbacks/;
    await expect(room.startWorker(undefined, { KEYRING: NEW })).rejects.toThrow(wanted);
    const { api } = running ?? room.running;
    await api.stop(30_000, 'SIGINT');
    const early = await room.startApi(undefined, undefined, { KEYRING: NEW });
    const ready = await fetch(`${room.apiUrl}/readyz`);
    expect([ready.status, ((await ready.json()) as { detail: string }).detail]).toEqual([
      503,
      expect.stringContaining('keyring'),
    ]);
    expect(await readFile(early.logFile, 'utf8')).not.toContain(NEW.slice(4));
    await early.stop(30_000, 'SIGINT');
    running = { api: await room.startApi(), worker: (running ?? room.running).worker };
    await release(room, held);
    await expectDelivered(room, held);
  });

  // The last one: what is sealed under the new key keeps the old ring from coming back.
  it('new key in front: callbacks, links, watch tokens and webhook secrets of before still count; then it is taken away', async () => {
    const endpoint = await fetch(`${room.apiUrl}/v1/webhook-endpoints`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${hooks}`,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify({ url: `${receiver.url}/ring` }),
    });
    expect(endpoint.status).toBe(201);
    const { secret, id: endpointId } = (await endpoint.json()) as { secret: string; id: string };
    const done = await ask(room, 'by-callback', uniquePrompt('linked under the old key'));
    const link = (await untilEnd(room, done.id)).outputs[0]!.url!;
    const held = await askHeld(room);
    const watch = (await call(room, 'GET', `/v1/generations/${held.id}`)).headers.get('watch-token')!;
    const watched = () =>
      fetch(`${room.apiUrl}/v1/generations/${held.id}?watch_token=${watch}`).then(({ status }) => status);

    await restart({ KEYRING: `${NEW},${OLD}` });
    expect([(await fetch(link)).status, await watched()]).toEqual([200, 200]);
    await release(room, held);
    await expectDelivered(room, held);
    const told = await receiver.until('/ring', 2);
    for (const received of told) verifiedEvent(received, secret);
    const fresh = await ask(room, 'by-callback', uniquePrompt('linked under the new key'));
    const freshLink = (await untilEnd(room, fresh.id)).outputs[0]!.url!;
    expect([new URL(link).searchParams.get('key'), new URL(freshLink).searchParams.get('key')]).toEqual([
      'test',
      'new',
    ]);

    // Too early: a webhook secret is still sealed under it. The worker does not start, and says which key it wants.
    await expect(room.startWorker(undefined, { KEYRING: NEW })).rejects.toThrow(
      /KEYRING lacks the key test, under which webhook secrets are sealed/,
    );
    const rotated = await fetch(`${room.apiUrl}/v1/webhook-endpoints/${endpointId}/rotate`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${hooks}`,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: '{}',
    });
    expect(rotated.status, await rotated.clone().text()).toBeLessThan(300);
    const { secret: newSecret } = (await rotated.json()) as { secret: string };
    // Within the overlap both sign: a receiver may still have either.
    const both = await ask(room, 'by-callback', uniquePrompt('signed by both'));
    await untilEnd(room, both.id);
    const events = await eventually(() => {
      const found = receiver.at('/ring').filter(({ body }) => body.includes(both.id));
      return found.length > 0 ? found : undefined;
    }, 90_000);
    for (const by of [secret, newSecret]) expect(verifiedEvent(events[0]!, by).data['id']).toBe(both.id);
    expect(String(events[0]!.headers['webhook-signature']).split(' ').length).toBe(2);
    // The overlap is over.
    await room.db.prisma.webhookSecret.updateMany({
      where: { keyId: 'test' },
      data: { expiresAt: new Date() },
    });
    await restart({ KEYRING: NEW });
    expect([(await fetch(link)).status, (await fetch(freshLink)).status]).toEqual([403, 200]);
    expect((await fetch((await get(room, done.id)).outputs[0]!.url!)).status).toBe(200);
    const last = await ask(room, 'by-callback', uniquePrompt('without the old key'));
    await untilEnd(room, last.id);
    await expectPromise(room, last, { state: 'succeeded', jobs: 1 });
    const lastEvents = await eventually(() => {
      const found = receiver.at('/ring').filter(({ body }) => body.includes(last.id));
      return found.length > 0 ? found : undefined;
    }, 90_000);
    expect(verifiedEvent(lastEvents[0]!, newSecret).data['id']).toBe(last.id);
    expect(() => verifiedEvent(lastEvents[0]!, secret)).toThrow();
  });
});
