import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { request } from 'node:http';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { infroSimulator } from '../../src/simulators/infro.ts';
import { Control, eventually } from './control.ts';

let simulator: RunningSimulator;
let control: Control;

beforeAll(async () => {
  simulator = await startSimulator(infroSimulator, { renderMs: 5 });
  control = new Control(simulator.url);
});
afterAll(() => simulator.close());

/** The link of a finished job with this prompt. */
const linkOf = async (prompt: string): Promise<string> => {
  const headers = { authorization: 'Bearer sim-key', 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'm-video', prompt, duration_seconds: 1 });
  const answer = await fetch(`${simulator.url}/v1/videos`, { method: 'POST', headers, body });
  const { id } = (await answer.json()) as { id: string };
  return eventually(async () => {
    const job = (await (await fetch(`${simulator.url}/v1/jobs/${id}`, { headers })).json()) as {
      output: { url: string } | null;
    };
    return job.output?.url;
  });
};

describe('link faults', () => {
  test('link_404 once, then the file', async () => {
    await control.fault('once 404', { kind: 'link_404', times: 1 });
    const link = await linkOf('once 404');
    expect((await fetch(link)).status).toBe(404);
    expect((await fetch(link)).status).toBe(200);
  });

  test.each([
    [{ kind: 'link_html' }, { status: 200, type: 'text/html', length: '37', location: null }],
    [{ kind: 'link_empty' }, { status: 200, type: 'video/mp4', length: '0', location: null }],
    [
      { kind: 'link_wrong_type' },
      { status: 200, type: 'image/png', length: expect.stringMatching(/^[1-9]\d*$/), location: null },
    ],
    [
      { kind: 'link_redirect_private', url: 'http://10.0.0.1/' },
      { status: 302, type: 'text/plain', length: '0', location: 'http://10.0.0.1/' },
    ],
  ] as const)('%o', async (fault, expected) => {
    await control.fault(fault.kind, fault);
    const answer = await fetch(await linkOf(fault.kind), { redirect: 'manual' });
    await answer.body?.cancel();
    const [type, length, location] = ['content-type', 'content-length', 'location'].map((name) =>
      answer.headers.get(name),
    );
    expect({ status: answer.status, type, length, location }).toEqual(expected);
  });

  test('link_truncated promises more than it sends', async () => {
    await control.fault('cut', { kind: 'link_truncated' });
    const answer = await fetch(await linkOf('cut'));
    expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(1_000);
    await expect(answer.arrayBuffer()).rejects.toThrow('terminated');
  });

  test('link_huge waits for its reader', async () => {
    await control.fault('huge', { kind: 'link_huge' });
    const link = await linkOf('huge');
    const received = await new Promise<number>((resolve) => {
      const outgoing = request(link, (response) => {
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > 1_000_000) {
            outgoing.destroy();
            resolve(bytes);
          }
        });
      });
      outgoing.on('error', () => undefined);
      outgoing.end();
    });
    expect(received).toBeLessThan(5_000_000);
  });

  test('link_slow sends it in ten parts', async () => {
    await control.fault('slow', { kind: 'link_slow', ms: 10 });
    const link = await linkOf('slow');
    const start = performance.now();
    expect((await (await fetch(link)).arrayBuffer()).byteLength).toBeGreaterThan(1_000);
    expect(performance.now() - start).toBeGreaterThan(80);
  });

  test('no link for a job that never was', async () => {
    expect((await fetch(`${simulator.url}/files/job_none/0.mp4`)).status).toBe(404);
    expect((await fetch(`${simulator.url}/files/..%2fetc`)).status).toBe(404);
  });
});
