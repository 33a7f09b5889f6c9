import { z } from 'zod';
import { CallbackSender } from './callbacks.ts';
import { handleControl } from './control.ts';
import { FaultList } from './faults.ts';
import { serveFile } from './files.ts';
import { closeServer, listen, sendJson, type Exchange } from './http.ts';
import { Jobs, type Job } from './jobs.ts';
import { Journal } from './journal.ts';

/** Settings of every simulator; see help.ts. */
const simulatorOptions = z.object({
  port: z.int().min(0).max(65_535).default(0),
  apiKeys: z.array(z.string().min(1)).min(1).default(['sim-key']),
  webhookSecrets: z.array(z.string().min(1)).min(1).max(8).default(['whsec_simulator']),
  renderMs: z.int().nonnegative().default(2_000),
  outputTtlMs: z.int().positive().default(86_400_000),
  idempotencyTtlMs: z.int().positive().default(86_400_000),
  callbackRetryMs: z.array(z.int().nonnegative()).max(20).default([500, 2_000, 10_000, 30_000, 60_000]),
  callbackTimeoutMs: z.int().positive().default(10_000),
  /** How links name this server; default its own address. */
  publicUrl: z.string().optional(),
});
export type SimulatorOptions = z.input<typeof simulatorOptions>;
type ResolvedOptions = z.output<typeof simulatorOptions>;

/** What a protocol works with. */
export interface SimulatorContext {
  readonly options: ResolvedOptions;
  readonly faults: FaultList;
  readonly journal: Journal;
  readonly jobs: Jobs;
  readonly sender: CallbackSender;
  /** Active signing secrets; replaced by `POST /_sim/secrets`. */
  secrets: readonly string[];
  baseUrl: string;
}

/** An event as a provider sends it. */
export interface SimulatedEvent {
  readonly id: string;
  readonly type: string;
  readonly body: Buffer;
}

/** One provider's documented protocol. */
export interface Protocol {
  handle(exchange: Exchange): void | Promise<void>;
  jobJson(job: Job): unknown;
  event(job: Job, type?: string, eventId?: string): SimulatedEvent;
  /** Signature headers over these bytes, at this time. */
  sign(body: Buffer, secrets: readonly string[], atMs: number): Readonly<Record<string, string>>;
  /** Called once when a job has ended. */
  onEnded(job: Job): void;
  reset(): void;
}

/** A simulator that listens; `close` ends every connection, render and callback. */
export interface RunningSimulator {
  readonly name: string;
  readonly url: string;
  close(): Promise<void>;
}

/** Starts one provider's simulator: its protocol, files under `/files`, control under `/_sim`. */
export async function startSimulator(
  name: string,
  input: SimulatorOptions,
  createProtocol: (context: SimulatorContext) => Protocol,
): Promise<RunningSimulator> {
  const options = simulatorOptions.parse(input);
  const faults = new FaultList();
  const journal = new Journal();
  const sender = new CallbackSender({
    retryMs: options.callbackRetryMs,
    timeoutMs: options.callbackTimeoutMs,
  });
  const jobs = new Jobs(options, faults, journal, (job) => protocol.onEnded(job));
  const context: SimulatorContext = {
    options,
    faults,
    journal,
    jobs,
    sender,
    secrets: options.webhookSecrets,
    baseUrl: '',
  };
  const protocol = createProtocol(context);

  const { server, url } = await listen(options.port, (exchange) => {
    const { pathname } = exchange.url;
    if (pathname === '/')
      return sendJson(exchange, 200, { simulator: name, help: 'darkroom simulate --help' });
    if (pathname.startsWith('/_sim/')) return handleControl(exchange, context, protocol);
    if (pathname.startsWith('/files/')) return serveFile(exchange, context);
    return protocol.handle(exchange);
  });
  context.baseUrl = options.publicUrl ?? url;
  return {
    name,
    url,
    close: async () => {
      sender.close();
      jobs.clear();
      await closeServer(server);
    },
  };
}
