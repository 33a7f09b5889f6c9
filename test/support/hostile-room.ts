import { freePorts } from '../../src/dev/ports.ts';
import { png } from '../storage/media.ts';
import { fastCatalogue } from './catalogue.ts';
import { startDarkroom, type Darkroom } from './darkroom.ts';
import { startHostileInfro, type HostileInfro } from './hostile-infro.ts';
import { providerCatalogue } from './provider-models.ts';
import { Receiver } from './receiver.ts';

/** A whole Darkroom whose INFRO repeats secrets, with a tenant's server and a collector of traces. */
export interface HostileRoom {
  readonly room: Darkroom;
  /** Takes webhooks, and has a picture at `/boat.png`. */
  readonly tenant: Receiver;
  readonly collector: Receiver;
  readonly provider: HostileInfro;
  readonly workerMetrics: string;
  stop(): Promise<void>;
}

/** What INFRO's key is, what stands behind its outputs' URLs, and which prompts it refuses. */
export interface Planted {
  readonly providerKey: string;
  readonly outputQuery: string;
  readonly refusedPrompt: string;
}

export async function startHostileRoom({
  providerKey,
  outputQuery,
  refusedPrompt,
}: Planted): Promise<HostileRoom> {
  const [port = 0] = await freePorts(1);
  const [tenant, collector] = await Promise.all([Receiver.start(), Receiver.start()]);
  collector.answer = () => 200;
  tenant.answer = ({ path }) =>
    path.startsWith('/boat.png')
      ? (response) => response.writeHead(200, { 'content-type': 'image/png' }).end(png(640, 360))
      : 204;
  const traces = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  Object.assign(process.env, traces);
  const ids = new Set(fastCatalogue.models.map(({ id }) => id));
  const more = providerCatalogue.models.filter(({ id }) => !ids.has(id));
  // INFRO answers from this very process, which is slow at times: no submit of it may become unknown.
  const patient = { submitHttpTimeoutMs: 10_000, submitLeaseMs: 12_000 };
  const models = [...fastCatalogue.models, ...more].map((model) => ({
    ...model,
    timings: { ...model.timings, ...patient },
  }));
  const room = await startDarkroom({
    worker: false,
    catalogue: { ...fastCatalogue, models },
    allow: [`127.0.0.1:${tenant.port}`],
  }).finally(() => {
    delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  });
  const simulator = room.sim.url;
  const provider = await startHostileInfro({
    simulator,
    apiKey: providerKey,
    outputQuery,
    refuses: refusedPrompt,
  });
  const urls = [...Object.values(room.sims).map(({ url }) => url), tenant.url, provider.url];
  await room.startWorker(undefined, {
    ...traces,
    METRICS_PORT: String(port),
    PROVIDER_INFRO_BASE_URL: provider.url,
    PROVIDER_INFRO_API_KEY: providerKey,
    NET_ALLOW: urls.map((url) => new URL(url).host).join(','),
  });
  return {
    room,
    tenant,
    collector,
    provider,
    workerMetrics: `http://127.0.0.1:${port}`,
    async stop() {
      await room.stop();
      await Promise.all([tenant.close(), collector.close(), provider.close()]);
    },
  };
}
