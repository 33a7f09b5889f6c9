import { copyFile, mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import { logTail, startChild, waitUntil } from '../../src/dev/child.ts';
import type { Child, ChildEnd } from '../../src/dev/child.ts';
import { freePorts } from '../../src/dev/ports.ts';
import { durationMs, environmentOf, healthLimitMs, ROOT } from './compose.ts';
import type { ComposeFile, Service } from './compose.ts';

/** The image's own services; each of the others has a stand-in that runs already. */
const OUR_IMAGE = 'darkroom:local';

/**
 * The folder /app of the image: `dist` from the programs that were compiled for this run of the tests, and what the
 * Dockerfile copies beside it.
 */
export async function makeImage(folder: string): Promise<string> {
  const app = join(folder, 'app');
  const dist = join(app, 'dist');
  await mkdir(dist, { recursive: true });
  await mkdir(join(app, 'docker'));
  for (const name of await readdir(inject('programs')))
    await symlink(join(inject('programs'), name), join(dist, name));
  await symlink(process.env['WORKFLOW_BUNDLE'] ?? '', join(dist, 'workflows.js'));
  for (const name of ['node_modules', 'prisma', 'package.json'])
    await symlink(join(ROOT, name), join(app, name));
  // Copied, since they look for dist beside them.
  for (const name of ['health.mjs', 'make-bucket.mjs'])
    await copyFile(join(ROOT, 'docker', name), join(app, 'docker', name));
  return app;
}

export interface Container {
  readonly child: Child;
  /** Runs the file's health check once; its exit status. */
  health(): Promise<number | null>;
  /** SIGTERM, and SIGKILL after the file's grace period, as `docker compose stop` does it. */
  stop(): Promise<ChildEnd>;
}

/** Starts services as docker-compose.yml says, in its order; hosts and ports of the containers are mapped to here. */
export class ComposeRun {
  readonly containers = new Map<string, Container>();
  readonly #file: ComposeFile;
  readonly #app: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #hosts: Readonly<Record<string, string>>;
  readonly #ports = new Map<string, string>();
  readonly #ready = new Map<string, Promise<void>>();

  /** @param hosts - `postgres:5432` and the like, and where that is here */
  constructor(
    file: ComposeFile,
    app: string,
    env: Readonly<Record<string, string>>,
    hosts: Readonly<Record<string, string>>,
  ) {
    this.#file = file;
    this.#app = app;
    this.#env = env;
    this.#hosts = hosts;
  }

  /** Gives a container's port another number here, since all of them share this machine. */
  async mapPorts(ports: readonly [service: string, port: number][]): Promise<number[]> {
    const free = await freePorts(ports.length);
    for (const [at, [service, port]] of ports.entries())
      this.#ports.set(`${service}:${port}`, String(free[at]));
    return free;
  }

  /** Starts everything of our image; resolves when all of it is healthy, or has ended with 0. */
  async up(): Promise<void> {
    const ours = Object.entries(this.#file.services).filter(([, { image }]) => image === OUR_IMAGE);
    await Promise.all(ours.map(([name]) => this.#start(name)));
  }

  /** As `docker compose run --rm SERVICE …`: its log. @throws Error when it ends with another status than 0 */
  async job(name: string, command = this.#file.services[name]?.command): Promise<string> {
    const child = await this.#spawn(name, command ?? []);
    const { code } = await child.ended;
    const log = await logTail(child.logFile, 1_000);
    if (code !== 0) throw new Error(`${name} ended with ${code}:\n${log}`);
    return log;
  }

  /** Stops what runs, all at once; how each ended. */
  async down(): Promise<Record<string, ChildEnd>> {
    const ends = [...this.containers].map(async ([name, one]) => [name, await one.stop()] as const);
    return Object.fromEntries(await Promise.all(ends));
  }

  #start(name: string): Promise<void> {
    const started = this.#ready.get(name) ?? this.#run(name);
    this.#ready.set(name, started);
    return started;
  }

  async #run(name: string): Promise<void> {
    const service = this.#file.services[name]!;
    if (service.image !== OUR_IMAGE) return;
    await Promise.all(Object.keys(service.depends_on ?? {}).map((needed) => this.#start(needed)));
    if (service.healthcheck?.disable === true) await this.job(name);
    else await this.#serve(name, service);
  }

  async #serve(name: string, service: Service): Promise<void> {
    const child = await this.#spawn(name, service.command ?? []);
    const health = async () => {
      const [kind, ...check] = service.healthcheck?.test ?? [];
      if (kind !== 'CMD') throw new Error(`the check of ${name} is not of the form CMD`);
      return (await (await this.#spawn(name, check)).ended).code;
    };
    const stop = () => child.stop(durationMs(service.stop_grace_period ?? '10s'), 'SIGTERM');
    this.containers.set(name, { child, health, stop });
    const healthy = await waitUntil(async () => (await health()) === 0, {
      timeoutMs: healthLimitMs(service),
      everyMs: 1_000,
      stopped: () => !child.isRunning(),
    });
    if (!healthy) throw new Error(`${name} did not become healthy:\n${await logTail(child.logFile)}`);
  }

  #spawn(name: string, [command = '', ...args]: readonly string[]): Promise<Child> {
    const service = this.#file.services[name]!;
    const variables = Object.entries(environmentOf(service, this.#env)).map(([variable, value]) => [
      variable,
      this.#portOf(name, this.#here(value)),
    ]);
    return startChild({
      name,
      command: command === 'node' ? process.execPath : command,
      args: args.map((word) => word.replace(/(?<=127\.0\.0\.1:)\d+/, (port) => this.#portOf(name, port))),
      cwd: this.#app,
      // Nothing of this process's environment: a container has none of it either.
      env: { PATH: process.env['PATH'], HOME: this.#app, ...Object.fromEntries(variables) },
      logFile: join(this.#app, `${name}.log`),
    });
  }

  #here(value: string): string {
    return Object.entries(this.#hosts).reduce((text, [host, here]) => text.replaceAll(host, here), value);
  }

  #portOf(name: string, port: string): string {
    return this.#ports.get(`${name}:${port}`) ?? port;
  }
}
