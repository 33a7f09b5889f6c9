import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startMetricsServer, type MetricsServer } from '../../src/worker/metrics.ts';

let server: MetricsServer;
let polling = true;
beforeAll(async () => {
  const exposition = { contentType: 'text/plain', render: () => Promise.resolve('up 1\n') };
  server = await startMetricsServer(exposition, { host: '127.0.0.1', port: 0 }, () => polling);
});
afterAll(() => server.close());

describe('GET /healthz of the worker', () => {
  it('K1: 200 while it polls its queues, else 503; the metrics are served all the same', async () => {
    const status = async (path: string) => (await fetch(`http://127.0.0.1:${server.port}${path}`)).status;
    expect(await status('/healthz')).toBe(200);
    polling = false;
    expect(await status('/healthz')).toBe(503);
    expect(await status('/metrics')).toBe(200);
  });
});
