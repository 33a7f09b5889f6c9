import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Child, logTail, startChild, waitUntil } from '../../src/dev/child.ts';
import { KILL_POINTS_URL, type KillPoint } from './kill-points.mjs';
import type { Death } from './types.ts';

const READY_MS = 120_000;
const AGAIN_MS = 500;
const CLOCK_URL = new URL('clock.mjs', import.meta.url).href;
const DISK_URL = new URL('disk-full.mjs', import.meta.url).href;

/** How a process is started for a fault. */
export interface Special {
  /** It kills itself there, once. */
  readonly crashAt?: KillPoint;
  /** So many times it passes there before. */
  readonly crashSkip?: number;
  /** Its JavaScript clock is off by so much, until `setClock`. */
  readonly clockOffsetMs?: number;
}

export interface SlotOptions {
  readonly name: string;
  readonly kind: 'api' | 'worker';
  /** The compiled programs. */
  readonly programs: string;
  readonly logs: string;
  readonly env: NodeJS.ProcessEnv;
  /** While this file is there, its outputs meet a full disk; null = the disk itself is filled. */
  readonly diskFullMarker: string | null;
}

/** A place for one process of ours: what ends there is started again, as a supervisor of a server would do. */
export class Slot {
  readonly name: string;
  readonly kind: 'api' | 'worker';
  /** Ends that nobody asked for, with the end of the log. */
  readonly ownEnds: string[] = [];
  /** All ends, whoever wanted them. */
  readonly deaths: Death[] = [];
  readonly #options: SlotOptions;
  readonly #clockFile: string;
  #child: Child | null = null;
  #wanted: Child | null = null;
  #starts = 0;
  #closed = false;
  #busy: Promise<unknown> = Promise.resolve();

  constructor(options: SlotOptions) {
    this.#options = options;
    this.name = options.name;
    this.kind = options.kind;
    this.#clockFile = join(options.logs, `${options.name}.clock`);
  }

  get isRunning(): boolean {
    return this.#child?.isRunning() === true;
  }

  /** One fault at a time: what two lanes do to one process happens one after the other. */
  alone<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#busy.then(run);
    this.#busy = turn.catch(() => {});
    return turn;
  }

  /** Until it is ready; one that ends before (its database is away) is started again. */
  async start(special: Special = {}): Promise<{ readonly marker: string }> {
    const until = performance.now() + READY_MS;
    for (;;) {
      const marker = await this.#startOnce(special);
      if (marker !== null || this.#closed) return { marker: marker ?? '' };
      if (performance.now() > until) {
        throw new Error(`${this.name} did not start. The end of its log:\n${await this.#tail()}`);
      }
      await sleep(AGAIN_MS);
    }
  }

  /** kill -9; resolves when it has ended. */
  async kill(): Promise<void> {
    this.#wanted = null;
    await this.#child?.stop(1_000, 'SIGKILL');
  }

  /** SIGTERM; how it ended. */
  async terminate(): Promise<string> {
    this.#wanted = null;
    if (!this.isRunning) return 'in order';
    const end = await this.#child?.stop(60_000, 'SIGTERM');
    return end?.code === 0 ? 'in order' : `with ${end?.signal ?? `status ${end?.code}`}`;
  }

  /** Whether it has killed itself at the point that it was started for. */
  async diesBy(marker: string, limitMs: number, stopped: () => boolean): Promise<boolean> {
    // Its end is awaited, so nobody wants it to live.
    this.#wanted = null;
    const isOver = () => Promise.resolve(!this.isRunning);
    return (await waitUntil(isOver, { timeoutMs: limitMs, everyMs: 50, stopped })) && existsSync(marker);
  }

  async setClock(offsetMs: number): Promise<void> {
    await writeFile(this.#clockFile, String(offsetMs));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.kill();
  }

  async #startOnce({ crashAt, crashSkip = 0, clockOffsetMs = 0 }: Special): Promise<string | null> {
    const { name, kind, programs, logs, env, diskFullMarker } = this.#options;
    this.#starts += 1;
    const logFile = join(logs, `${name}-${this.#starts}.log`);
    const marker = `${logFile}.crashed`;
    await this.setClock(clockOffsetMs);
    const preloads = [
      ...(clockOffsetMs === 0 ? [] : [CLOCK_URL]),
      ...(diskFullMarker === null ? [] : [DISK_URL]),
      ...(crashAt === undefined ? [] : [KILL_POINTS_URL]),
    ];
    const child = await startChild({
      name,
      command: process.execPath,
      args: [...preloads.flatMap((url) => ['--import', url]), join(programs, kind, 'main.js')],
      env: {
        ...env,
        ...(clockOffsetMs === 0 ? {} : { CLOCK_FILE: this.#clockFile }),
        ...(diskFullMarker === null ? {} : { DISK_FULL_MARKER: diskFullMarker }),
        ...(crashAt === undefined
          ? {}
          : { CRASH_AT: crashAt, CRASH_MARKER: marker, CRASH_SKIP: String(crashSkip) }),
      },
      logFile,
    });
    this.#child = child;
    void child.ended.then(() => this.deaths.push({ slot: name, atMs: Date.now() }));
    const ready = async () => (await readFile(logFile, 'utf8').catch(() => '')).includes(`${kind} ready`);
    const isReady = await waitUntil(ready, {
      timeoutMs: READY_MS,
      everyMs: 50,
      stopped: () => !child.isRunning(),
    });
    // One that was so quick to pass its kill point has done what it was started for.
    if (!isReady && !existsSync(marker)) return null;
    if (child.isRunning()) {
      this.#wanted = child;
      void this.#watch(child);
    }
    return marker;
  }

  async #watch(child: Child): Promise<void> {
    const { code, signal } = await child.ended;
    if (this.#closed || this.#wanted !== child) return;
    this.ownEnds.push(
      `${this.name} ended by itself with ${signal ?? `status ${code}`}:\n${await logTail(child.logFile)}`,
    );
    await this.alone(async () => {
      if (!this.isRunning && !this.#closed) await this.start();
    }).catch(() => {});
  }

  #tail(): Promise<string> {
    return logTail(this.#child?.logFile ?? '');
  }
}
