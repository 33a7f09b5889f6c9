import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { grantCredits } from '../../src/services/grant-credits.ts';
import type { Fault } from '../../src/simulators/faults.ts';
import { startDarkroom, type Darkroom } from '../support/darkroom.ts';
import { until, untilEnd } from '../support/generations.ts';
import { variablePrefix } from '../../src/providers/configuration.ts';
import { PROVIDER_ROWS } from '../support/provider-models.ts';
import { chaosCatalogue, inputFor, PRICE } from './catalogue.ts';
import { TenantReceiver } from './receiver.ts';
import type { Asked, World } from './types.ts';

/** A run that is over, in which nothing went wrong. */
export interface SmallWorld {
  readonly room: Darkroom;
  readonly world: World;
  /** By what it stands for: its generation. */
  readonly ids: Readonly<Record<keyof typeof WISHES | 'fal' | 'kling' | 'poor', string>>;
  readonly stop: () => Promise<void>;
}

interface Wish {
  readonly model: string;
  readonly fault?: readonly [provider: string, ...Fault[]];
  readonly toldByUrl?: true;
  readonly cancelled?: true;
  readonly deadlineSeconds?: number;
}

/** Each way in which one can end. */
const WISHES = {
  infro: { model: 'infro', toldByUrl: true },
  polled: { model: 'infro-polled' },
  failed: { model: 'infro', fault: ['infro', { kind: 'fail', code: 'render_error' }] },
  refused: { model: 'infro', fault: ['infro', { kind: 'refuse', status: 400 }], toldByUrl: true },
  second: { model: 'infro-or-aigenway', fault: ['infro', { kind: 'refuse', status: 400 }] },
  cancelled: { model: 'infro', fault: ['infro', { kind: 'render_ms', ms: 60_000 }], cancelled: true },
  lost: {
    model: 'crazyrouter',
    fault: ['crazyrouter', { kind: 'reset_after_accept' }],
    deadlineSeconds: 15,
  },
} satisfies Record<string, Wish>;
/** Each provider once. */
const OF_PROVIDERS = Object.fromEntries(PROVIDER_ROWS.map(({ name }) => [name, { model: name }]));

/** Real processes and a real receiver; ends when all that was asked for has ended and was told. */
export async function playSmallWorld(): Promise<SmallWorld> {
  const receiver = await TenantReceiver.start();
  const webhookUrl = `http://127.0.0.1:${receiver.port}`;
  const room = await startDarkroom({ catalogue: chaosCatalogue, allow: [`127.0.0.1:${receiver.port}`] });
  const stop = async () => {
    await Promise.all([room.stop(), receiver.close()]);
  };
  try {
    await prepare(room, receiver, webhookUrl);
    const asked: Asked[] = [];
    const ids: Record<string, string> = {};
    const providerFaults: Record<string, Fault[]> = {};
    for (const [name, wish] of Object.entries<Wish>({
      ...OF_PROVIDERS,
      ...WISHES,
      poor: { model: 'infro' },
    })) {
      const prompt = `a small world, ${name}`;
      for (const fault of (wish.fault?.slice(1) ?? []) as Fault[]) {
        const provider = wish.fault?.[0] ?? '';
        await room.sims[provider]?.fault(prompt, fault);
        providerFaults[provider] = [...(providerFaults[provider] ?? []), { ...fault, match: { prompt } }];
      }
      const one = await ask(room, webhookUrl, prompt, {
        ...wish,
        account: name === 'poor' ? 'poor' : 'default',
      });
      asked.push(one);
      ids[name] = one.id ?? '';
    }
    const cancelled = asked.find(({ id }) => id === ids['cancelled']);
    await until(room, ids['cancelled'] ?? '', ({ stage }) => stage === 'waiting');
    await fetch(`${room.apiUrl}/v1/generations/${ids['cancelled']}/cancel`, {
      method: 'POST',
      headers: { authorization: `Bearer ${room.key}` },
    });
    Object.assign(cancelled ?? {}, { cancelled: true });
    const taken = asked.filter(({ id }) => id !== null);
    for (const { id } of taken) await untilEnd(room, id ?? '', 120_000);
    const told = () => new Set(receiver.received.map((one) => `${one.generationId} ${one.receiver}`)).size;
    const receivers = taken.length + taken.filter(({ toldByUrl }) => toldByUrl).length;
    for (let waited = 0; waited < 600 && told() < receivers; waited++) await sleep(100);
    return {
      room,
      world: worldOf(room, receiver, asked, providerFaults),
      ids: ids as SmallWorld['ids'],
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function prepare(room: Darkroom, receiver: TenantReceiver, webhookUrl: string): Promise<void> {
  const { tenantId, db } = room;
  const { text: key } = await createApiKey({ db }, { tenantId, scopes: ['webhooks'], label: 'webhooks' });
  const words = { businessKey: 'poor', reason: 'test', actor: 'test' };
  await grantCredits({ db }, { tenantId, account: 'poor', credits: PRICE - 1, ...words });
  const post = async (path: string, body: object) => {
    const answer = await fetch(room.apiUrl + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify(body),
    });
    return ((await answer.json()) as { secret: string }).secret;
  };
  receiver.secrets.endpoint = await post('/v1/webhook-endpoints', { url: `${webhookUrl}/endpoint` });
  receiver.secrets.callback_url = await post('/v1/webhook-secret/rotate', {});
}

/** Twice under one key, as one does who is not sure. */
async function ask(
  room: Darkroom,
  webhookUrl: string,
  prompt: string,
  wish: Wish & { readonly account: string },
): Promise<Asked> {
  const { model, account, toldByUrl = false, deadlineSeconds = 600 } = wish;
  const idempotencyKey = randomUUID();
  const body = JSON.stringify({
    model,
    account,
    input: inputFor(model, prompt),
    deadline_seconds: deadlineSeconds,
    ...(toldByUrl ? { callback_url: `${webhookUrl}/callback-url` } : {}),
  });
  const asked: Asked = {
    prompt,
    model,
    idempotencyKey,
    account,
    status: null,
    id: null,
    answers: [],
    cancelled: false,
    toldByUrl,
  };
  for (let time = 0; time < 2; time++) {
    const answer = await fetch(`${room.apiUrl}/v1/generations`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${room.key}`,
        'content-type': 'application/json',
        'idempotency-key': idempotencyKey,
      },
      body,
    });
    const text = await answer.text();
    asked.status = answer.status;
    if (answer.status !== 202) continue;
    asked.answers.push(text);
    asked.id = (JSON.parse(text) as { id: string }).id;
  }
  return asked;
}

function worldOf(
  room: Darkroom,
  receiver: TenantReceiver,
  asked: readonly Asked[],
  providerFaults: World['providerFaults'],
): World {
  const names = Object.keys(room.sims);
  const setting = (name: string, what: string) => room.env[`${variablePrefix(name)}${what}`] ?? '';
  const keys = names.map((name) => setting(name, 'API_KEY'));
  return {
    seed: 0,
    databaseUrl: room.env['DATABASE_URL'] ?? '',
    apiUrl: room.apiUrl,
    temporalAddress: room.temporal.address,
    storageUrl: room.env['STORAGE_URL'] ?? '',
    simulators: Object.fromEntries(names.map((name) => [name, room.sims[name]?.url ?? ''])),
    simulatorKeys: Object.fromEntries(names.map((name, at) => [name, keys[at] ?? ''])),
    providerFaults,
    asked,
    received: receiver.received,
    struck: [],
    deaths: [],
    disturbed: [],
    endedRuns: [],
    oddAnswers: [],
    logs: room.logs,
    secrets: [
      ...names.map((name) => setting(name, 'WEBHOOK_SECRET')),
      ...keys.filter((key) => key !== 'sim-key'),
      room.key,
      receiver.secrets.endpoint,
      receiver.secrets.callback_url,
    ],
  };
}
