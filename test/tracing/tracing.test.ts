import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { rootOf, traceIdOf } from '../../src/domain/trace-id.ts';
import { NO_TRACING, openTracing, tellTrace, type Tracing } from '../../src/tracing/index.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { eventually } from '../simulators/control.ts';
import { HANG, Receiver } from '../support/receiver.ts';
import { attributesOf, spansAt } from '../support/spans.ts';

let collector: Receiver;
let problems: unknown[];
beforeEach(async () => {
  collector = await Receiver.start();
  collector.answer = () => 200;
  problems = [];
});
afterEach(() => collector.close());

const open = (url: string | null = collector.url): Promise<Tracing> =>
  openTracing({ url, service: 'test', version: '1.2.3', onProblem: (error) => problems.push(error) });
/** Once so many have come: a stop waits 3 s for them, then they follow. */
const spansOnce = (count: number) =>
  eventually(() => {
    const spans = spansAt(collector);
    return spans.length >= count ? spans : undefined;
  }, 60_000);
const step = (generation: string) =>
  ({ name: 'step', kind: 'internal', generation, fields: { step: 'submit', attempt: 1 } }) as const;

describe('tracing', () => {
  it('sends spans below the root of their generation, with allowed fields only', async () => {
    const generation = newId('gen');
    const tracing = await open();
    const fields = { ...step(generation).fields, prompt: 'CANARY', problem: 'https://x/?key=CANARY' };
    const inner = { name: 'inner', kind: 'client', generation: null, fields: {} } as const;
    const result = await tracing.span(
      { ...step(generation), fields },
      () => tracing.span(inner, async () => 'inner result'),
      (text) => ({ outcome: text === 'inner result' ? 'done' : 'lost' }),
    );
    expect(result).toBe('inner result');
    tracing.recordRoot(generation, { generation });
    await tracing.close();
    const spans = await spansOnce(3);
    const one = (name: string) => spans.find((span) => span.name === name)!;
    expect(spans.map(({ traceId }) => traceId)).toEqual(spans.map(() => traceIdOf(generation)));
    expect(one('generation')).toMatchObject({ spanId: rootOf(generation)!.spanId, service: 'darkroom-test' });
    expect(one('step').parentSpanId).toBe(rootOf(generation)!.spanId);
    expect(one('inner').parentSpanId).toBe(one('step').spanId);
    expect(attributesOf(one('step'))).toMatchObject({ step: 'submit', outcome: 'done', problem: '(unfit)' });
    expect(collector.received.map(({ body }) => body).join('')).not.toContain('CANARY');
    expect(problems).toEqual([]);
  });

  it('a failure passes through, its text does not; what belongs to no trace just runs', async () => {
    const tracing = await open();
    const thrown = new Error('CANARY');
    const failing = tracing.span(step(newId('gen')), () => Promise.reject(thrown));
    await expect(failing).rejects.toBe(thrown);
    const free = { ...step('run-of-nobody'), generation: null } as const;
    expect(await tracing.span(free, async () => 7)).toBe(7);
    await tracing.close();
    expect(await spansOnce(1)).toMatchObject([{ name: 'step', status: { code: 2 } }]);
    expect(collector.received.map(({ body }) => body).join('')).not.toContain('CANARY');
  });

  it.each([
    ['is away', () => 'http://127.0.0.1:9'],
    ['refuses', () => collector.url],
    ['never answers', () => collector.url],
  ])('a collector that %s disturbs nobody: told once, and the stop is bounded', async (how, url) => {
    collector.answer = () => (how === 'refuses' ? 400 : HANG);
    const tracing = await open(url());
    for (let made = 0; made < 5_000; made += 1)
      expect(await tracing.span(step(newId('gen')), async () => made)).toBe(made);
    await tracing.close();
    if (how === 'refuses') await eventually(() => (problems.length > 0 ? true : undefined), 60_000);
    expect(problems.length).toBeLessThanOrEqual(1);
  });

  it('a call inside a span tells of it, one outside does not, and a download never', async () => {
    const tracing = await open();
    const sent: Readonly<Record<string, string>>[] = [];
    const http = {
      request: async ({ headers }: { headers: Readonly<Record<string, string>> }) => sent.push(headers),
    } as unknown as OutboundHttp;
    const request = { method: 'GET', url: 'https://x.example', headers: { a: 'b' }, timeoutMs: 1 } as const;
    const generation = newId('gen');
    await tellTrace(http, tracing).request(request);
    await tracing.span(step(generation), () => tellTrace(http, tracing).request(request));
    const traceparent = expect.stringMatching(
      new RegExp(`^00-${traceIdOf(generation)}-[0-9a-f]{16}-01$`),
    ) as string;
    expect(sent).toEqual([{ a: 'b' }, { a: 'b', traceparent }]);
    expect(tellTrace(http, NO_TRACING)).toBe(http);
    await tracing.close();
  });

  it('off costs nothing: no package of OpenTelemetry is loaded', async () => {
    expect(await open(null)).toBe(NO_TRACING);
    const index = new URL('../../src/tracing/index.ts', import.meta.url).href;
    const script = `
      const { openTracing } = await import(${JSON.stringify(index)});
      const { createRequire } = await import('node:module');
      await openTracing({ url: process.env.COLLECTOR ?? null, service: 'x', version: '1', onProblem() {} });
      const loaded = Object.keys(createRequire(${JSON.stringify(import.meta.url)}).cache ?? {});
      console.log(loaded.filter((file) => file.includes('@opentelemetry')).length);`;
    const loaded = async (env: NodeJS.ProcessEnv) => {
      const args = ['--import', 'tsx', '--input-type=module', '-e', script];
      const { stdout } = await promisify(execFile)(process.execPath, args, {
        env: { ...process.env, ...env },
        timeout: 60_000,
      });
      return Number(stdout);
    };
    expect(await loaded({})).toBe(0);
    expect(await loaded({ COLLECTOR: collector.url })).toBeGreaterThan(0);
  });
});
