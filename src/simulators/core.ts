import { z } from 'zod';
import { Announcer } from './announcer.ts';
import { CallbackSender } from './callbacks.ts';
import { handleControl } from './control.ts';
import { FaultList } from './faults.ts';
import { serveFile } from './files.ts';
import { closeServer, listen, sendAnswer, sendJson, type Exchange } from './http.ts';
import { Jobs } from './jobs.ts';
import { Journal } from './journal.ts';
import type { Protocol, ProviderSimulator, SimulatorContext } from './protocol.ts';

/** Settings of every simulator; see help.ts. */
const simulatorOptions = z.object({
  port: z.int().min(0).max(65_535).default(0),
  apiKeys: z.array(z.string().min(1)).min(1).default(['sim-key']),
  webhookSecrets: z.array(z.string().min(1)).min(1).max(8).default(['whsec_c2ltdWxhdG9yIHNlY3JldA==']),
  renderMs: z.int().nonnegative().default(2_000),
  outputTtlMs: z.int().positive().default(86_400_000),
  idempotencyTtlMs: z.int().positive().default(86_400_000),
  callbackRetryMs: z.array(z.int().nonnegative()).max(20).default([500, 2_000, 10_000, 30_000, 60_000]),
  callbackTimeoutMs: z.int().positive().default(10_000),
  /** How links name this server; default its own address. */
  publicUrl: z.string().optional(),
});
export type SimulatorOptions = z.input<typeof simulatorOptions>;
export type ResolvedOptions = z.output<typeof simulatorOptions>;

/** A simulator that listens; `close` ends every connection, render and callback. */
export interface RunningSimulator {
  readonly name: string;
  readonly url: string;
  close(): Promise<void>;
}

/** Starts one provider's simulator on 127.0.0.1: its protocol, files under `/files`, control under `/_sim`. */
export async function startSimulator(
  provider: ProviderSimulator,
  input: SimulatorOptions = {},
): Promise<RunningSimulator> {
  const options = simulatorOptions.parse({ ...provider.defaults, ...input });
  const faults = new FaultList();
  const journal = new Journal();
  const sender = new CallbackSender({
    retryMs: options.callbackRetryMs,
    timeoutMs: options.callbackTimeoutMs,
  });
  const announcer = new Announcer({
    faults,
    journal,
    sender,
    secrets: () => context.secrets,
    protocol: () => protocol,
  });
  const jobs = new Jobs(options, faults, journal, (job) => announcer.changed(job));
  const context: SimulatorContext = {
    provider,
    options,
    faults,
    journal,
    jobs,
    sender,
    announcer,
    secrets: options.webhookSecrets,
    baseUrl: '',
  };
  const protocol: Protocol = provider.create(context);

  const { server, url } = await listen(options.port, (exchange) => {
    const { pathname } = exchange.url;
    if (pathname === '/')
      return sendJson(exchange, 200, { simulator: provider.name, help: 'darkroom simulate --help' });
    if (pathname.startsWith('/_sim/')) return handleControl(exchange, context, protocol);
    if (pathname.startsWith('/files/')) return serveFile(exchange, context);
    return handleApi(exchange, context, protocol);
  });
  context.baseUrl = options.publicUrl ?? url;
  return {
    name: provider.name,
    url,
    close: async () => {
      sender.close();
      jobs.clear();
      await closeServer(server);
    },
  };
}

/** Writes the request into the journal, checks its key, and gives it to the protocol. */
function handleApi(
  exchange: Exchange,
  { provider, journal, options }: SimulatorContext,
  protocol: Protocol,
): void | Promise<void> {
  const { method, url, headers, body } = exchange;
  const authorized = provider.isAuthorized(exchange, options.apiKeys);
  const key = headers['idempotency-key'];
  const prompt = body.length === 0 ? '' : provider.promptOf(exchange);
  journal.request({
    method,
    path: url.pathname,
    authorized,
    idempotency_key: typeof key === 'string' ? key : null,
    prompt: prompt === '' ? null : prompt,
  });
  if (protocol.handlePublic?.(exchange) === true) return;
  if (authorized) return protocol.handle(exchange);
  journal.count('unauthorized');
  sendAnswer(exchange, provider.error({ kind: 'unauthorized' }));
}
