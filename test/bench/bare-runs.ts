import { fork, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { keepWatch, endWatch } from '../../src/dev/keeper.ts';
import type { BareMessage } from './bare-worker.ts';
import { BARE_QUEUES } from './bare-queues.ts';
import { within } from './progress.ts';

const LIMIT_MS = 120_000;

interface BareOptions {
  readonly address: string;
  readonly bundle: string;
  readonly execArgv: readonly string[];
  /** Between a run's submit and its signal, as the simulator waits before its callback. */
  readonly renderMs: number;
}

/**
 * Bare Temporal: its worker is a process of its own, this one is the plain client that starts and signals. It hears of
 * each settle over the worker's channel, which costs the server nothing, unlike waiting for each result.
 */
export class BareRuns {
  readonly #child: ChildProcess;
  readonly #connection: Connection;
  readonly #client: Client;
  readonly #renderMs: number;
  readonly #waiting = new Map<string, (message: 'settled' | 'submitted') => void>();

  private constructor(child: ChildProcess, connection: Connection, renderMs: number) {
    this.#child = child;
    this.#connection = connection;
    this.#client = new Client({ connection });
    this.#renderMs = renderMs;
    child.on('message', (message: BareMessage) => this.#take(message));
  }

  static async start({ address, bundle, execArgv, renderMs }: BareOptions): Promise<BareRuns> {
    const child = fork(fileURLToPath(new URL('bare-worker.ts', import.meta.url)), [address, bundle], {
      execArgv: ['--import', import.meta.resolve('tsx'), ...execArgv],
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const pid = child.pid ?? 0;
    keepWatch(pid, 'SIGKILL');
    child.once('exit', () => endWatch(pid));
    const ready = new Promise<void>((resolve, reject) => {
      child.once('message', () => resolve());
      child.once('exit', () => reject(new Error('the bare worker did not start')));
    });
    await within('the start of the bare worker', LIMIT_MS, ready);
    return new BareRuns(child, await Connection.connect({ address }), renderMs);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Starts one run, signals it and waits until it has settled. */
  async run(): Promise<void> {
    const id = `bare_${randomUUID()}`;
    const settled = this.#until(id);
    await this.#start(id);
    await settled;
  }

  /** Starts one run and waits until it waits for its signal. */
  async runUntilWaiting(): Promise<string> {
    const id = `bare_${randomUUID()}`;
    const submitted = new Promise<void>((resolve) => {
      this.#waiting.set(id, () => {
        this.#waiting.delete(id);
        resolve();
      });
    });
    await this.#start(id);
    await within(`the submit of ${id}`, LIMIT_MS, submitted);
    return id;
  }

  /** Milliseconds from the signal's sending until the run has completed. */
  async signalToCompleted(id: string): Promise<number> {
    const handle = this.#client.workflow.getHandle(id);
    // The long poll stands before the signal is sent.
    const completed = handle.result();
    await new Promise((done) => setTimeout(done, 20));
    const sentMs = performance.now();
    await handle.signal('wake');
    await within(`the end of ${id}`, LIMIT_MS, completed);
    return performance.now() - sentMs;
  }

  async #start(id: string): Promise<void> {
    const started = this.#client.workflow.start('bareGeneration', {
      workflowId: id,
      taskQueue: BARE_QUEUES.main,
      args: [id],
      workflowTaskTimeout: '5s',
    });
    await within(`the start of ${id}`, LIMIT_MS, started);
  }

  #until(id: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`waited ${LIMIT_MS / 1_000} s in vain: the settle of ${id}`)),
        LIMIT_MS,
      );
      this.#waiting.set(id, (message) => {
        if (message === 'submitted') {
          setTimeout(() => {
            this.#client.workflow.getHandle(id).signal('wake').catch(reject);
          }, this.#renderMs);
          return;
        }
        this.#waiting.delete(id);
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #take(message: BareMessage): void {
    if ('submitted' in message) this.#waiting.get(message.submitted)?.('submitted');
    else if ('settled' in message) this.#waiting.get(message.settled)?.('settled');
  }

  /** @param graceMs for what it has under way, and for its profile */
  async stop(graceMs: number): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = new Promise((resolve) => {
        this.#child.once('exit', resolve);
      });
      const timer = setTimeout(() => this.#child.kill('SIGKILL'), graceMs);
      if (this.#child.connected) this.#child.disconnect();
      await ended;
      clearTimeout(timer);
    }
    await this.#connection.close();
  }
}
