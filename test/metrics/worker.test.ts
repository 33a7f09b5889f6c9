import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  countPrunedRows,
  countRemovedFiles,
  showWaitingRemovals,
} from '../../src/metrics/housekeeping-metrics.ts';
import { countObservation, countSubmit } from '../../src/metrics/job-metrics.ts';
import { OBSERVATION_KINDS, SUBMIT_KINDS } from '../../src/metrics/labels.ts';
import { countOutboundFailures, workerMetrics } from '../../src/metrics/index.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import { startMetricsServer, type MetricsServer } from '../../src/worker/metrics.ts';
import { stubDb } from '../api/api.ts';
import { send } from '../api/client.ts';
import { httpTo, ScriptedServer } from '../providers/scripted-server.ts';
import { Scrape } from './samples.ts';

const HOST = '127.0.0.1';
let server: MetricsServer;
let url: string;
beforeAll(async () => {
  server = await startMetricsServer(workerMetrics(stubDb().db, ['infro', 'kling']), { host: HOST, port: 0 });
  url = `http://${HOST}:${server.port}`;
});
afterAll(() => server.close());

describe('the metrics server of the worker', () => {
  it('serves the text format and every series from 0 on', async () => {
    const answer = await send(url, { path: '/metrics?x=1' });
    expect([answer.status, answer.headers['content-type']]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
    const scrape = new Scrape(answer.text);
    for (const provider of ['infro', 'kling']) {
      for (const kind of SUBMIT_KINDS)
        expect(scrape.value('darkroom_submit_answers_total', { provider, kind })).toBe(0);
      for (const kind of OBSERVATION_KINDS)
        expect(scrape.value('darkroom_observations_total', { provider, kind })).toBe(0);
      expect(scrape.value('darkroom_unknown_statuses_total', { provider })).toBe(0);
    }
    for (const kind of ['output', 'input', 'orphan'])
      expect(scrape.value('darkroom_files_removed_total', { kind })).toBe(0);
    for (const table of ['callback', 'generation_event', 'webhook_event'])
      expect(scrape.value('darkroom_pruned_rows_total', { table })).toBe(0);
    expect(scrape.value('darkroom_file_removals_waiting')).toBe(0);
    expect(answer.text).not.toContain('darkroom_callbacks_total');
    expect((await send(url, { method: 'HEAD', path: '/metrics' })).text).toBe('');
  });

  it('serves nothing else', async () => {
    for (const path of ['/', '/metrics/', '/metricsx', '/v1/generations', '/metrics%00']) {
      expect((await send(url, { path })).status).toBe(404);
    }
    const posted = await send(url, { method: 'POST', path: '/metrics', body: 'x' });
    expect([posted.status, posted.headers.allow]).toEqual([405, 'GET, HEAD']);
  });

  it('answers 500 without a reason when the text can not be made', async () => {
    const render = () => Promise.reject(new Error('secret detail'));
    const broken = await startMetricsServer({ contentType: 'text/plain', render }, { host: HOST, port: 0 });
    const answer = await send(`http://${HOST}:${broken.port}`, { path: '/metrics' });
    expect([answer.status, answer.text]).toEqual([500, 'The metrics could not be made.\n']);
    await broken.close();
  });

  it('says what to set when the port is taken', async () => {
    const exposition = workerMetrics(stubDb().db, []);
    await expect(startMetricsServer(exposition, { host: HOST, port: server.port })).rejects.toThrow(
      `The metrics can't be served on ${HOST}:${server.port}: set another METRICS_PORT, or remove it.`,
    );
  });
});

describe('what is counted', () => {
  it('submits by what their answer proved', async () => {
    countSubmit('infro', 'accepted');
    countSubmit('infro', 'accepted');
    countSubmit('kling', 'unknown');
    const scrape = await Scrape.of(url);
    expect(scrape.value('darkroom_submit_answers_total', { provider: 'infro', kind: 'accepted' })).toBe(2);
    expect(scrape.value('darkroom_submit_answers_total', { provider: 'kling', kind: 'unknown' })).toBe(1);
    expect(scrape.value('darkroom_submit_answers_total', { provider: 'kling', kind: 'accepted' })).toBe(0);
  });

  it('looks by what was seen, and status strings that are not known', async () => {
    const running = { kind: 'running', progress: null } as const;
    countObservation('infro', { ...running, status: 'queued', unknownStatus: false });
    countObservation('infro', { ...running, status: 'hatching', unknownStatus: true });
    countObservation('infro', { kind: 'not_found' });
    const scrape = await Scrape.of(url);
    expect(scrape.value('darkroom_observations_total', { provider: 'infro', kind: 'running' })).toBe(2);
    expect(scrape.value('darkroom_observations_total', { provider: 'infro', kind: 'not_found' })).toBe(1);
    expect(scrape.value('darkroom_unknown_statuses_total', { provider: 'infro' })).toBe(1);
    expect(scrape.value('darkroom_unknown_statuses_total', { provider: 'kling' })).toBe(0);
    expect(JSON.stringify(scrape.samples)).not.toContain('hatching');
  });

  it('files removed by kind, rows pruned by table, files that wait', async () => {
    countRemovedFiles('output', 2);
    countRemovedFiles('orphan', 1);
    countPrunedRows('callback', 3);
    showWaitingRemovals(7);
    const scrape = await Scrape.of(url);
    const removed = (kind: string) => scrape.value('darkroom_files_removed_total', { kind });
    const pruned = (table: string) => scrape.value('darkroom_pruned_rows_total', { table });
    expect([removed('output'), removed('input'), removed('orphan')]).toEqual([2, 0, 1]);
    expect([pruned('callback'), pruned('generation_event'), pruned('webhook_event')]).toEqual([3, 0, 0]);
    expect(scrape.value('darkroom_file_removals_waiting')).toBe(7);
  });

  it('outbound calls and downloads that failed; answers of any status are none', async () => {
    const remote = await ScriptedServer.start();
    remote.answer = ({ url: path }) => ({ status: path === '/gone' ? 404 : 500 });
    const inner = httpTo(remote.url);
    const http = countOutboundFailures(inner);
    const guarded = countOutboundFailures(createOutboundHttp({ allow: [] }));
    const before = await Scrape.of(url);
    const request = { method: 'GET', headers: {}, timeoutMs: 30_000 } as const;
    expect((await http.request({ ...request, url: remote.url })).kind).toBe('answer');
    expect((await guarded.request({ ...request, url: 'https://127.0.0.1/' })).kind).toBe('not_sent');
    const download = {
      hosts: [HOST],
      headersFor: () => ({}),
      limits: { maxBytes: 10, idleMs: 30_000, totalMs: 30_000 },
      signal: new AbortController().signal,
      write: async () => {},
    };
    expect((await http.download({ ...download, url: `${remote.url}/gone` })).kind).toBe('gone');
    expect((await http.download({ ...download, url: `${remote.url}/odd` })).kind).toBe('failed');
    expect((await http.download({ ...download, url: remote.url, hosts: [] })).kind).toBe('rejected');
    const after = await Scrape.of(url);
    const grown = after.samples
      .filter(({ name }) => name === 'darkroom_outbound_failures_total')
      .map(({ name, labels, value }) => ({ ...labels, by: value - before.value(name, labels)! }))
      .filter(({ by }) => by > 0);
    expect(grown).toEqual([
      { call: 'request', reason: 'blocked_address', by: 1 },
      { call: 'download', reason: 'http_status', by: 1 },
      { call: 'download', reason: 'gone', by: 1 },
      { call: 'download', reason: 'blocked_host', by: 1 },
    ]);
    await Promise.all([http.close(), guarded.close()]);
    await remote.close();
  });
});
