/** Secrets and private texts are planted everywhere; logs, Temporal, metrics, traces and problems are searched for them. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { traceIdOf } from '../../src/domain/trace-id.ts';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { Scrape } from '../metrics/samples.ts';
import { eventually } from '../simulators/control.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { untilEnd } from '../support/generations.ts';
import { historyOf } from '../support/history.ts';
import { startHostileRoom, type HostileRoom } from '../support/hostile-room.ts';
import { historyText, linesOf, logText, namesIn } from '../support/logs.ts';
import { attributesOf, spansAt } from '../support/spans.ts';

const mark = (what: string) => `CANARY${what}${randomUUID().replaceAll('-', '')}`;
const PLANTED = {
  providerKey: mark('providerkey'),
  outputQuery: mark('outputquery'),
  prompt: mark('prompt'),
  refusedPrompt: mark('refused'),
  metadata: mark('metadata'),
  inputQuery: mark('inputquery'),
  callbackQuery: mark('callbackquery'),
  endpointQuery: mark('endpointquery'),
  idempotencyKey: mark('idempotency'),
  wrongKey: mark('wrongkey'),
  callbackBody: mark('callbackbody'),
  query: mark('query'),
  cookie: mark('cookie'),
};
/** Secrets that are found out while the test runs, by what they are. */
const found: Record<string, string> = {};

let hostile: HostileRoom;
let room: Darkroom;
const problems: string[] = [];
const generations: string[] = [];
beforeAll(async () => {
  hostile = await startHostileRoom(PLANTED);
  ({ room } = hostile);
});
afterAll(() => hostile?.stop());

interface Call {
  readonly method?: string;
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A call of the API with canaries in its head; the text of a problem is kept. */
async function ask(path: string, { method = 'GET', key = room.key, body, headers = {} }: Call = {}) {
  const answer = await fetch(room.apiUrl + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      cookie: PLANTED.cookie,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(method === 'POST' ? { 'idempotency-key': PLANTED.idempotencyKey + randomUUID() } : {}),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (answer.status >= 400) problems.push(JSON.stringify([...answer.headers]) + text);
  return { status: answer.status, headers: answer.headers, text };
}

const TRACEPARENT = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };

async function create(model: string, prompt: string, input: object = {}): Promise<string> {
  const { status, text, headers } = await ask('/v1/generations', {
    method: 'POST',
    body: {
      model,
      input: { prompt, duration_seconds: 2, ...input },
      metadata: { note: PLANTED.metadata },
      callback_url: `${hostile.tenant.url}/hook?key=${PLANTED.callbackQuery}`,
    },
    headers: { traceparent: `00-${TRACEPARENT.traceId}-${TRACEPARENT.spanId}-01` },
  });
  expect(status, text).toBe(202);
  found['watch token'] = headers.get('watch-token')!;
  const { id } = JSON.parse(text) as { id: string };
  generations.push(id);
  return id;
}

const canariesIn = (text: string) => namesIn(text, { ...PLANTED, ...found });
let story: string;

describe('LOG-1 J2 nothing secret or private leaves the rows', () => {
  it('plays everything that holds a secret', async () => {
    const { db, tenantId } = room;
    const [admin, webhooks] = await Promise.all([
      createApiKey({ db }, { tenantId: null, scopes: ['admin'], label: 'night' }),
      createApiKey({ db }, { tenantId, scopes: ['webhooks'], label: 'hooks' }),
    ]);
    const rotated = await ask('/v1/webhook-secret/rotate', { method: 'POST', key: webhooks.text, body: {} });
    expect(rotated.status, rotated.text).toBeLessThan(300);
    const endpoint = await ask('/v1/webhook-endpoints', {
      method: 'POST',
      key: webhooks.text,
      body: { url: `${hostile.tenant.url}/endpoint?key=${PLANTED.endpointQuery}` },
    });
    expect(endpoint.status, endpoint.text).toBe(201);
    Object.assign(found, {
      'tenant key': room.key.slice(-30),
      'admin key': admin.text.slice(-30),
      'webhooks key': webhooks.text.slice(-30),
      'default webhook secret': /whsec_[A-Za-z0-9+/=]+/.exec(rotated.text)![0],
      'endpoint secret': /whsec_[A-Za-z0-9+/=]+/.exec(endpoint.text)![0],
      'provider webhook secret': Buffer.from('e2e secret of infro').toString('base64'),
      keyring: Buffer.alloc(32, 7).toString('base64').slice(0, 40),
    });

    story = await create('by-callback', PLANTED.prompt);
    const refused = await create('by-callback', PLANTED.refusedPrompt);
    const animated = await create('animate', PLANTED.prompt, {
      image_url: `${hostile.tenant.url}/boat.png?key=${PLANTED.inputQuery}`,
      duration_seconds: 4,
    });
    const ended = await Promise.all([story, refused, animated].map((id) => untilEnd(room, id)));
    expect(ended.map(({ state }) => state)).toEqual(['succeeded', 'failed', 'succeeded']);
    const link = ended[0]!.outputs[0]!.url!;
    found['link signature'] = new URL(link).searchParams.get('signature')!;
    expect(found['link signature'].length).toBeGreaterThan(20);
    expect((await fetch(link)).status).toBe(200);
    expect((await fetch(link.replace('signature=', 'signature=x'))).status).toBe(403);
    const watched = `/v1/generations/${animated}?watch_token=${found['watch token']}`;
    expect((await fetch(room.apiUrl + watched)).status).toBe(200);
    await hostile.tenant.until(`/hook?key=${PLANTED.callbackQuery}`, 3);
    await hostile.tenant.until(`/endpoint?key=${PLANTED.endpointQuery}`, 3);

    const { wrongKey, query, callbackBody, prompt } = PLANTED;
    const bad = { model: 'by-callback', input: { prompt, duration_seconds: 999 } };
    const statuses = await Promise.all([
      ask(`/v1/generations?cursor=${query}`),
      ask(`/${query}`),
      ask(`/v1/generations/${story}`, { key: `dk_${wrongKey}_${wrongKey}` }),
      ask('/v1/generations', { method: 'POST', body: bad }),
      ask('/v1/generations', { method: 'POST', body: `{"model": "${prompt}` }),
      ask('/v1/generations', { method: 'POST', body: { ...bad, input: { prompt: 1 }, model: prompt } }),
      ask('/admin/v1/tenants', { key: room.key }),
      ask(`/admin/v1/generations/${story}/refunds`, {
        method: 'POST',
        key: admin.text,
        body: { note: prompt },
      }),
      ask('/callbacks/infro', { method: 'POST', body: { id: callbackBody } }),
      ask(`/callbacks/infro/sub_${story.slice(4)}_1.${wrongKey}`, {
        method: 'POST',
        body: { id: callbackBody },
      }),
    ]).then((answers) => answers.map(({ status }) => status));
    expect(
      statuses.every((status) => status >= 400 && status < 500),
      statuses.join(),
    ).toBe(true);
  });

  it('the search finds what is there: a tenant’s own answer has prompt and metadata, the provider had the key', async () => {
    const own = (await ask(`/v1/generations/${story}`)).text;
    expect(canariesIn(own)).toEqual(expect.arrayContaining(['prompt', 'metadata']));
    expect(canariesIn(JSON.stringify(hostile.provider.headers))).toContain('providerKey');
    for (const canary of [...Object.values(PLANTED), ...Object.values(found)])
      expect(canary.length).toBeGreaterThan(15);
  });

  it('no line of API or worker', async () => {
    const text = await logText(room);
    for (const id of generations) expect(text).toContain(id);
    expect(canariesIn(text)).toEqual([]);
    expect(linesOf(text).filter((line) => 'dropped' in line)).toEqual([]);
  });

  it('no history, memo, summary or search attribute of Temporal', async () => {
    const runs = [];
    for await (const run of room.client.workflow.list()) runs.push(run.workflowId);
    expect(runs).toEqual(expect.arrayContaining(generations));
    for (const id of runs) {
      const text = await historyText(room, id);
      // Payloads, summaries and attributes were really read.
      for (const part of [id, '"generationId"', room.tenantId, 'text-to-video|image-to-video'])
        expect(text).toMatch(new RegExp(part));
      expect(canariesIn(text)).toEqual([]);
    }
  });

  it('no metric, and no problem document', async () => {
    const texts = await Promise.all(
      [room.apiUrl, hostile.workerMetrics].map(async (url) => (await fetch(`${url}/metrics`)).text()),
    );
    expect(texts.join('')).toContain('provider="infro"');
    expect(canariesIn(texts.join(''))).toEqual([]);
    for (const id of [...generations, room.tenantId]) expect(texts.join('')).not.toContain(id);
    for (const text of texts) expect(new Scrape(text).value('darkroom_log_fields_dropped_total')).toBe(0);
    expect(problems.length).toBeGreaterThanOrEqual(10);
    expect(canariesIn(problems.join(''))).toEqual([]);
  });
});

describe('one trace per generation', () => {
  const ALL = [
    ['darkroom-api', 'POST /v1/generations'],
    ['darkroom-api', 'sql create_generation'],
    ['darkroom-api', 'POST /callbacks/{provider}/{token}'],
    ['darkroom-api', 'sql record_callback'],
    ['darkroom-worker', 'step submit'],
    ['darkroom-worker', 'sql claim_submission'],
    ['darkroom-worker', 'infro submit'],
    ['darkroom-worker', 'step collect'],
    ['darkroom-worker', 'infro observe'],
    ['darkroom-worker', 'step settle'],
    ['darkroom-worker', 'webhook delivery'],
    ['darkroom-worker', 'generation'],
  ] as const;

  it('has the spans of API, worker, provider, database and webhooks, and no canary', async () => {
    const traceId = traceIdOf(story);
    const own = () => spansAt(hostile.collector).filter((span) => span.traceId === traceId);
    const spans = await eventually(() => {
      const names = new Set(own().map(({ service, name }) => `${service} ${name}`));
      return ALL.every((pair) => names.has(pair.join(' '))) ? own() : undefined;
    }, 60_000).catch(() => own());
    const names = spans.map(({ service, name }) => [service, name]);
    for (const pair of ALL) expect(names).toContainEqual(pair);
    expect(canariesIn(hostile.collector.received.map(({ body }) => body).join(''))).toEqual([]);

    const ids = new Set(spans.map(({ spanId }) => spanId));
    const roots = spans.filter(({ parentSpanId }) => !parentSpanId);
    expect(roots.map(({ name }) => name)).toEqual(['generation']);
    for (const { parentSpanId, name } of spans) {
      if (name !== 'generation') expect([name, ids.has(parentSpanId ?? '')]).toEqual([name, true]);
    }
    const one = (name: string) => spans.find((span) => span.name === name)!;
    expect(one('infro submit').parentSpanId).toBe(one('step submit').spanId);
    expect(attributesOf(one('infro submit'))).toEqual({
      provider: 'infro',
      call: 'submit',
      answer: 'accepted',
    });
    expect(attributesOf(one('POST /v1/generations'))).toMatchObject({ generation: story, status: 202 });
    expect(one('POST /v1/generations').links).toMatchObject([TRACEPARENT]);
  });

  it('the provider is told of it, and its first, failed look is no error of the trace', async () => {
    const traceId = traceIdOf(story);
    const told = hostile.provider.headers.filter(({ traceparent }) => String(traceparent).includes(traceId!));
    expect(told.length).toBeGreaterThanOrEqual(3);
    const spanIds = new Set(spansAt(hostile.collector).map(({ spanId }) => spanId));
    for (const { traceparent } of told) {
      const [, spanId = ''] = /^00-[0-9a-f]{32}-([0-9a-f]{16})-01$/.exec(String(traceparent)) ?? [];
      expect(spanIds.has(spanId)).toBe(true);
    }
  });
});

describe('one wide line a step', () => {
  it('for every attempt, with what it did, and the trace of the API’s lines', async () => {
    await room.client.workflow.getHandle(story).result();
    const lines = linesOf(await logText(room)).filter(({ generation }) => generation === story);
    expect(new Set(lines.map((line) => line['trace_id']))).toEqual(new Set([traceIdOf(story)]));
    expect(lines.some(({ service, request_id }) => service === 'api' && request_id !== undefined)).toBe(true);
    const steps = lines.filter((line) => line['step'] !== undefined);
    const attempts = (await historyOf(room, story)).flatMap((event) => {
      const started = event['activityTaskStartedEventAttributes'] as { attempt?: number } | null | undefined;
      return started?.attempt === undefined ? [] : [started.attempt];
    });
    expect(attempts.length).toBeGreaterThanOrEqual(3);
    expect(steps.length).toBe(attempts.reduce((sum, attempt) => sum + attempt, 0));

    const submit = steps.filter(({ step }) => step === 'submit');
    expect(submit).toMatchObject([
      {
        attempt: 1,
        submission: `sub_${story.slice(4)}_1`,
        provider: 'infro',
        outcome: 'wait',
        answer: 'accepted',
        recorded: 'attached',
        calls: 1,
      },
    ]);
    for (const line of steps)
      expect(line).toMatchObject({ ms: expect.any(Number), call_ms: expect.any(Number), msg: 'step' });
    expect(submit[0]!['ms']).toBeGreaterThanOrEqual(submit[0]!['call_ms'] as number);
    const looks = steps.filter(({ step }) => step === 'collect');
    expect(looks[0]).toMatchObject({ observed: 'unavailable', outcome: 'again', calls: 1 });
    expect(looks.at(-1)).toMatchObject({ observed: 'succeeded', outcome: 'settle', provider: 'infro' });
    expect(steps.at(-1)).toMatchObject({
      step: 'settle',
      outcome: 'done',
      settled: 'settled',
      state: 'succeeded',
      captured: 40,
    });
  });
});
