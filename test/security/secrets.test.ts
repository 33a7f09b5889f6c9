/** SEC-1: a real stack plays every kind of end with canaries for secrets; then all that it wrote down is searched. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { eventually } from '../simulators/control.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { until, untilEnd } from '../support/generations.ts';
import { startHostileRoom, type HostileRoom } from '../support/hostile-room.ts';
import { historyText, logText } from '../support/logs.ts';
import { dumpOf, placesIn, secretsIn } from './dump.ts';

vi.setConfig({ testTimeout: 180_000 });

const mark = (what: string) => `CANARY${what}${randomUUID().replaceAll('-', '')}`;
/** Texts of a tenant, or of the provider's links. */
const PRIVATE = {
  prompt: mark('prompt'),
  metadata: mark('metadata'),
  inputQuery: mark('inputquery'),
  callbackQuery: mark('callbackquery'),
  endpointQuery: mark('endpointquery'),
  idempotencyKey: mark('idempotency'),
  outputQuery: mark('outputquery'),
};
/** What a tenant's own answer and webhook are made of; a receiver that repeats them is kept as it answered. */
const SHOWN = ['generation.response_body', 'webhook_attempt.answer', 'webhook_event.body'];
/** Where these may stand in the database, and do: the search is seen to find. A provider's links stand nowhere. */
const MAY_BE_IN: Readonly<Record<string, readonly string[]>> = {
  prompt: ['callback.body', 'generation.input', 'submission.request', ...SHOWN],
  metadata: ['generation.metadata', ...SHOWN],
  inputQuery: ['generation.input', ...SHOWN],
  callbackQuery: ['generation.callback_url'],
  endpointQuery: ['webhook_endpoint.url'],
  idempotencyKey: ['generation.idempotency_key', 'webhook_endpoint.idempotency_key'],
};
const refusedPrompt = mark('refused');
/** What may stand nowhere in any spelling; those of the stack are added when it runs. */
const secrets: Record<string, string> = { 'provider key': mark('providerkey') };

let hostile: HostileRoom;
let room: Darkroom;
const problems: string[] = [];
const answers: string[] = [];
beforeAll(async () => {
  hostile = await startHostileRoom({
    providerKey: secrets['provider key']!,
    outputQuery: PRIVATE.outputQuery,
    refusedPrompt,
  });
  ({ room } = hostile);
  const before = hostile.tenant.answer;
  // A receiver that fails and says all it knows.
  hostile.tenant.answer = (received, count) =>
    received.path.startsWith('/echo')
      ? (response) => response.writeHead(500).end(JSON.stringify(received.headers) + received.body)
      : before(received, count);
});
afterAll(() => hostile?.stop());

interface Call {
  readonly method?: string;
  readonly key?: string;
  readonly body?: unknown;
  /** The answer is the one place where a secret is shown, once. */
  readonly once?: true;
}

async function ask(path: string, { method = 'GET', key = room.key, body, once }: Call = {}) {
  const answer = await fetch(room.apiUrl + path, {
    method,
    redirect: 'manual',
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(method === 'POST' ? { 'idempotency-key': PRIVATE.idempotencyKey + randomUUID() } : {}),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  (answer.status >= 400 ? problems : once ? [] : answers).push(text);
  return { status: answer.status, headers: answer.headers, text };
}

async function make(model: string, prompt: string, hook = 'hook', input: object = {}): Promise<string> {
  const { status, text, headers } = await ask('/v1/generations', {
    method: 'POST',
    body: {
      model,
      input: { prompt, duration_seconds: 4, ...input },
      metadata: { note: PRIVATE.metadata },
      callback_url: `${hostile.tenant.url}/${hook}?key=${PRIVATE.callbackQuery}`,
    },
  });
  expect(status, text).toBe(202);
  secrets['watch token'] = headers.get('watch-token')!;
  return (JSON.parse(text) as { id: string }).id;
}

const secretOf = (text: string) => /whsec_[A-Za-z0-9+/=]+/.exec(text)![0];
const generations: string[] = [];

/** Keys, secrets and passwords that the stack has or makes. */
async function gather(): Promise<{ admin: string; webhooks: string }> {
  const { db, tenantId } = room;
  const [admin, webhooks] = await Promise.all([
    createApiKey({ db }, { tenantId: null, scopes: ['admin'], label: 'night' }),
    createApiKey({ db }, { tenantId, scopes: ['webhooks'], label: 'hooks' }),
  ]);
  const post = { method: 'POST', key: webhooks.text, once: true } as const;
  const rotated = await ask('/v1/webhook-secret/rotate', { ...post, body: {} });
  const again = await ask('/v1/webhook-secret/rotate', { ...post, body: {} });
  const endpoint = await ask('/v1/webhook-endpoints', {
    ...post,
    body: { url: `${hostile.tenant.url}/echo?key=${PRIVATE.endpointQuery}` },
  });
  const made = await ask('/admin/v1/keys', {
    ...post,
    key: admin.text,
    body: { tenant: tenantId, scopes: ['generations'], label: 'made', reason: 'a test' },
  });
  Object.assign(secrets, {
    'tenant key': room.key.slice(20),
    'admin key': admin.text.slice(20),
    'webhooks key': webhooks.text.slice(20),
    'key made by an operator': (JSON.parse(made.text) as { key: string }).key.slice(20),
    'default webhook secret, retired': secretOf(rotated.text),
    'default webhook secret': secretOf(again.text),
    'endpoint secret': secretOf(endpoint.text),
    'database password': new URL(room.env['DATABASE_URL']!).password,
    KEYRING: Buffer.alloc(32, 7).toString('base64'),
    'KEYRING, its bytes': Buffer.alloc(32, 7).toString('latin1'),
  });
  for (const [name, value] of Object.entries(room.env)) {
    if (/^PROVIDER_.*_WEBHOOK_SECRET$/.test(name)) secrets[name] = value!;
    if (/^PROVIDER_.*_API_KEY$/.test(name) && name !== 'PROVIDER_INFRO_API_KEY') secrets[name] = value!;
  }
  return { admin: admin.text, webhooks: webhooks.text };
}

/** Tokens of callback URLs, and secrets of single submissions, as the providers got them. */
async function gatherTokens(): Promise<void> {
  for (const provider of ['infro', 'replicate', 'bfl']) {
    const { jobs } = await room.sims[provider]!.journal(PRIVATE.prompt);
    const tokens = jobs.flatMap(({ request_body: body }) => /sub_\w+\.[\w-]{43}/.exec(body)?.[0] ?? []);
    expect(tokens.length, provider).toBeGreaterThan(0);
    tokens.forEach((token, i) => {
      secrets[`callback token ${i} of ${provider}`] = token.slice(token.indexOf('.') + 1);
    });
  }
  const [job] = (await room.sims['bfl']!.journal(PRIVATE.prompt)).jobs;
  const { webhook_secret: secret } = JSON.parse(job!.request_body) as { webhook_secret: string };
  secrets['secret of a submission’s callbacks'] = secret;
}

describe('SEC-1 secrets are written down nowhere', () => {
  it('plays every kind of end, errors and what operators do', async () => {
    const { admin, webhooks } = await gather();
    const { prompt } = PRIVATE;
    await room.sim.fault(`${prompt} cancelled`, { kind: 'stuck' });
    await room.sim.fault(`${prompt} late`, { kind: 'stuck' });
    const picture = { image_url: `${hostile.tenant.url}/boat.png?key=${PRIVATE.inputQuery}` };
    const [done, told, signed, refused, cancelled, late, animated] = await Promise.all([
      make('by-callback', `${prompt} done`, 'echo'),
      make('replicate', `${prompt} told`),
      make('bfl', `${prompt} signed`),
      make('by-callback', refusedPrompt),
      make('by-callback', `${prompt} cancelled`),
      make('short-deadline', `${prompt} late`),
      make('animate', `${prompt} animated`, 'echo', picture),
    ]);
    await until(room, cancelled, ({ stage }) => stage === 'waiting');
    await ask(`/v1/generations/${cancelled}/cancel`, { method: 'POST', body: {} });
    generations.push(done, told, signed, refused, cancelled, late, animated);
    const ends = await Promise.all(generations.map((id) => untilEnd(room, id)));
    expect(ends.map(({ state }) => state)).toEqual([
      'succeeded',
      'succeeded',
      'succeeded',
      'failed',
      'cancelled',
      'expired',
      'succeeded',
    ]);
    const link = ends[0]!.outputs[0]!.url!;
    secrets['signature of a link'] = new URL(link).searchParams.get('signature')!;
    expect((await fetch(link)).status).toBe(200);
    expect((await fetch(link.replace('signature=', 'signature=x'))).status).toBe(403);
    await hostile.tenant.until(`/echo?key=${PRIVATE.callbackQuery}`, 3);
    await hostile.tenant.until(`/echo?key=${PRIVATE.endpointQuery}`, 6);
    // Only the event of the animation repeats this; the endpoint may be closed to it by then, a callback_url never is.
    await eventually(async () => {
      const attempts = await room.db.prisma.webhookAttempt.findMany();
      return attempts.some(({ answer }) => Buffer.from(answer).includes(PRIVATE.inputQuery)) || undefined;
    }, 90_000);
    await gatherTokens();

    const operate = { method: 'POST', key: admin } as const;
    const acts = await Promise.all([
      ask(`/admin/v1/generations/${done}/refunds`, { ...operate, body: { credits: 1, reason: 'goodwill' } }),
      ask(`/admin/v1/generations/${done}/redeliver`, { ...operate, body: { reason: 'asked for' } }),
      ask('/admin/v1/sweep', { ...operate, body: { reason: 'asked for' } }),
    ]);
    for (const { status, text } of acts) expect(status, text).toBeLessThan(500);
    const lists = ['generations', 'tenants', 'keys', 'callbacks', 'webhook-deliveries', 'pauses', 'budgets'];
    for (const path of [...lists, ...generations.map((id) => `generations/${id}`)])
      await ask(`/admin/v1/${path}`, { key: admin });
    for (const path of ['generations', 'models', 'credits', 'credits/entries', `generations/${done}`])
      await ask(`/v1/${path}`);
    for (const path of ['webhook-endpoints', 'webhook-deliveries'])
      await ask(`/v1/${path}`, { key: webhooks });
    for (const path of ['tenants', 'keys']) await ask(`/admin/v1/${path}`);
    await ask(`/v1/generations?cursor=${PRIVATE.prompt}`);
    await ask('/v1/generations', { method: 'POST', body: { model: prompt, input: { prompt: 1 } } });
    await ask('/callbacks/infro', { method: 'POST', body: { id: prompt } });
    expect(answers.length).toBeGreaterThan(15);
    expect(problems.length).toBeGreaterThan(3);
    for (const [name, secret] of Object.entries(secrets))
      expect([name, secret.length > 6]).toEqual([name, true]);
  });

  it('no table holds one; a tenant’s own texts are where they belong', async () => {
    const dump = await dumpOf(room.env['DATABASE_URL']!);
    expect(dump.size).toBeGreaterThan(100);
    // All of these rows were written, so that the search had something to find.
    for (const place of [
      'webhook_secret.sealed',
      'callback.body',
      'submission.handle',
      'webhook_attempt.answer',
    ])
      expect(dump.get(place)?.length, place).toBeGreaterThan(0);
    expect(placesIn(dump, secrets)).toEqual({});
    expect(placesIn(dump, PRIVATE)).toEqual(
      Object.fromEntries(Object.entries(MAY_BE_IN).map(([name, places]) => [name, places.toSorted()])),
    );
  });

  it('no line of API or worker, no history, metric, trace or problem holds one, nor a tenant’s text', async () => {
    const all = { ...secrets, ...PRIVATE, refusedPrompt };
    const logs = await logText(room);
    for (const id of generations) expect(logs).toContain(id);
    expect(secretsIn(logs, all)).toEqual([]);
    for (const id of generations) {
      const history = await historyText(room, id);
      expect(history).toContain(id);
      expect(secretsIn(history, all)).toEqual([]);
    }
    const metrics = await Promise.all(
      [room.apiUrl, hostile.workerMetrics].map(async (url) => (await fetch(`${url}/metrics`)).text()),
    );
    expect(secretsIn(metrics.join(''), all)).toEqual([]);
    // The worker sends its spans once a second.
    const traces = await eventually(() => {
      const text = hostile.collector.received.map(({ body }) => body).join('');
      return text.includes('webhook delivery') ? text : undefined;
    });
    expect(secretsIn(traces, all)).toEqual([]);
    expect(secretsIn(problems.join(''), all)).toEqual([]);
  });

  it('no answer of any API holds one, but the one that made it', () => {
    // What opens a file is part of the answer to its own tenant.
    const { 'signature of a link': _link, ...others } = secrets;
    expect(secretsIn(answers.join(''), others)).toEqual([]);
  });
});
