import { parseArgs } from 'node:util';
import { startSimulator, type RunningSimulator, type SimulatorOptions } from './core.ts';
import { SIMULATE_HELP } from './help.ts';
import { SIMULATORS } from './index.ts';

const PARENT_CHECK_MS = 1_000;

const OPTIONS = {
  only: { type: 'string', multiple: true },
  port: { type: 'string', default: '0' },
  'api-key': { type: 'string', multiple: true },
  'webhook-secret': { type: 'string', multiple: true },
  'render-ms': { type: 'string' },
  'output-ttl-ms': { type: 'string' },
  'exit-with-parent': { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

/** A whole number, or an Error that names the option. */
function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,12}$/.test(text)) throw new Error(`--${name} takes a whole number, not "${text}"`);
  return Number(text);
}

function fromEnvironment(name: string): string[] | undefined {
  return process.env[name]?.split(',').filter((value) => value !== '');
}

function withoutUndefined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}

/** Starts what the arguments ask for, or throws with what is wrong with them. */
async function startAll(values: ReturnType<typeof parse>): Promise<readonly RunningSimulator[]> {
  const firstPort = wholeNumber('port', values.port) ?? 0;
  const known = SIMULATORS.map(({ name }) => name);
  const names = values.only ?? known;
  return Promise.all(
    names.map((name, index) => {
      const provider = SIMULATORS.find((simulator) => simulator.name === name);
      if (provider === undefined) throw new Error(`no simulator "${name}": ${known.join(', ')}`);
      const prefix = `SIM_${name.toUpperCase()}`;
      const options: SimulatorOptions = withoutUndefined({
        port: firstPort === 0 ? 0 : firstPort + index,
        apiKeys: values['api-key'] ?? fromEnvironment(`${prefix}_API_KEY`),
        webhookSecrets: values['webhook-secret'] ?? fromEnvironment(`${prefix}_WEBHOOK_SECRET`),
        renderMs: wholeNumber('render-ms', values['render-ms']),
        outputTtlMs: wholeNumber('output-ttl-ms', values['output-ttl-ms']),
        publicUrl: process.env[`${prefix}_PUBLIC_URL`],
      });
      return startSimulator(provider, options);
    }),
  );
}

function parse(argv: readonly string[]) {
  return parseArgs({ args: [...argv], options: OPTIONS, strict: true }).values;
}

/**
 * Starts what the arguments ask for (help.ts) and runs until SIGTERM, SIGINT, or (if asked) the end of the parent.
 * Throws with what is wrong with the arguments, or when a port is taken.
 */
export async function runSimulators(argv: readonly string[]): Promise<void> {
  const values = parse(argv);
  if (values.help) {
    process.stdout.write(SIMULATE_HELP);
    return;
  }
  const simulators = await startAll(values);
  let stopping = false;
  const stop = () => {
    if (stopping) return;
    stopping = true;
    void Promise.all(simulators.map((simulator) => simulator.close())).then(() => process.exit(0));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  if (values['exit-with-parent']) {
    const parent = process.ppid;
    setInterval(() => {
      if (process.ppid !== parent) stop();
    }, PARENT_CHECK_MS).unref();
  }
  for (const { name, url } of simulators) process.stdout.write(`${JSON.stringify({ name, url })}\n`);
}
