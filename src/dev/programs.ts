import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Child, logTail, startChild, waitUntil } from './child.ts';
import type { Secrets } from './data-folder.ts';
import { freePort } from './ports.ts';
import { printedUrls, SIMULATED, simulatorEnvironment } from './simulated-providers.ts';
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

/** Starts the simulators of all providers in one process, which says their URLs on stdout. @returns them by name */
export async function startSimulators(
  { env, parts }: StackInput,
  logs: string,
  secrets: Secrets,
): Promise<Readonly<Record<string, string>>> {
  const name = 'Simulators';
  const args = SIMULATED.flatMap((provider) => ['--only', provider]);
  for (const port of [await freePort(PREFERRED_PORT), 0]) {
    let output = '';
    const child = await startProgram({
      name,
      script: 'src/simulators/main.ts',
      args: [...args, '--port', String(port)],
      logs,
      env: { ...env, ...simulatorEnvironment(secrets.simulators) },
      stopSignal: 'SIGTERM',
      onStdout: (text) => {
        output += text;
      },
    });
    const haveSpoken = () => Promise.resolve(Object.keys(printedUrls(output)).length === SIMULATED.length);
    if (await waitUntil(haveSpoken, { timeoutMs: 30_000, stopped: () => !child.isRunning() })) {
      parts.add(() => child.stop(3_000));
      parts.watch(name, child.ended, child.logFile);
      return printedUrls(output);
    }
    await child.stop(1_000);
  }
  const log = await logTail(join(logs, 'simulators.log'));
  throw new Error(`The simulators did not start. The end of their log:\n${log}`);
}
