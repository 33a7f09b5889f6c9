import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Child, logTail, startChild, waitUntil } from './child.ts';
import type { Secrets } from './data-folder.ts';
import { freePort } from './ports.ts';
import type { StackInput } from './stack.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PREFERRED_PORT = 9101;

interface Program {
  readonly name: string;
  /** A TypeScript file of this checkout. */
  readonly script: string;
  readonly args?: readonly string[];
  /** The folder of the log files. */
  readonly logs: string;
  readonly env: NodeJS.ProcessEnv;
  readonly stopSignal: NodeJS.Signals;
  readonly onStdout?: (text: string) => void;
}

/** Runs one of our own programs from its source. */
export function startProgram({
  name,
  script,
  args = [],
  logs,
  env,
  stopSignal,
  onStdout,
}: Program): Promise<Child> {
  return startChild({
    name,
    command: process.execPath,
    args: ['--import', import.meta.resolve('tsx'), join(ROOT, script), ...args],
    cwd: ROOT,
    env,
    logFile: join(logs, `${name.toLowerCase()}.log`),
    stopSignal,
    ...(onStdout === undefined ? {} : { onStdout }),
  });
}

/** Starts the INFRO simulator, which says its URL on stdout. @returns that URL */
export async function startSimulator(
  { env, parts }: StackInput,
  logs: string,
  secrets: Secrets,
): Promise<string> {
  const name = 'Simulator';
  for (const preferred of [PREFERRED_PORT, undefined]) {
    let output = '';
    const child = await startProgram({
      name,
      script: 'src/simulators/main.ts',
      args: ['--only', 'infro', '--port', String(await freePort(preferred))],
      logs,
      env: {
        ...env,
        SIM_INFRO_API_KEY: secrets.infroApiKey,
        SIM_INFRO_WEBHOOK_SECRET: secrets.infroWebhookSecret,
      },
      stopSignal: 'SIGTERM',
      onStdout: (text) => {
        output += text;
      },
    });
    const hasSpoken = () => Promise.resolve(output.includes('\n'));
    if (await waitUntil(hasSpoken, { timeoutMs: 30_000, stopped: () => !child.isRunning() })) {
      parts.add(() => child.stop(3_000));
      parts.watch(name, child.ended, child.logFile);
      return (JSON.parse(output) as { url: string }).url;
    }
    await child.stop(1_000);
  }
  throw new Error(
    `The simulator did not start. The end of its log:\n${await logTail(join(logs, 'simulator.log'))}`,
  );
}
