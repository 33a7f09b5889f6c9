import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from '../../src/dev/ports.ts';
import type { Disturbed } from './types.ts';

/** What is done to the bytes of one link; all of it is undone by `heal()`. */
export interface LinkFault {
  /** New connections are reset, and those that are open are cut. */
  readonly refuse?: boolean;
  /** Each piece waits so long, in order. */
  readonly delayMs?: number;
  /** Nothing goes on in this direction, the connections stay open; what was held goes on after. */
  readonly stall?: 'up' | 'down';
}

/** When an answer is lost: all that was asked arrives, and the connection is cut instead of the answer. */
export interface LostAnswer {
  /** Of what is asked, in clear text; without it any request. */
  readonly request?: RegExp;
  /** So many bytes of the answer still arrive. */
  readonly afterBytes?: number;
  /** How often; by default once. */
  readonly times?: number;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** Bytes of the answer that may still pass; null = all. */
  left: number | null;
}

/** One TCP link between two parts of the stack, which a test can disturb. Several targets are tried in turn. */
export class Link {
  readonly name: string;
  readonly port: number;
  #targets: readonly number[];
  readonly #listener: Server;
  readonly #pairs = new Set<Pair>();
  readonly #held: (() => void)[] = [];
  #fault: LinkFault = {};
  #lost: { readonly request: RegExp | null; readonly afterBytes: number; times: number } | null = null;
  #turn = 0;
  /** Answers that were lost so far. */
  answersLost = 0;
  /** Connections cut or refused, and pieces held or delayed, so far: whether a fault met anybody. */
  met = 0;
  /** When not everything passed; the last one may go on. */
  readonly #disturbed: { link: string; fromMs: number; toMs: number }[] = [];

  private constructor(name: string, port: number, targets: readonly number[]) {
    this.name = name;
    this.port = port;
    this.#targets = targets;
    this.#listener = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  }

  /** Listens on a free port of 127.0.0.1. */
  static async open(name: string, targets: readonly number[] = []): Promise<Link> {
    const link = new Link(name, await freePort(), targets);
    await new Promise<void>((resolve, reject) => {
      link.#listener.once('error', reject);
      link.#listener.listen(link.port, '127.0.0.1', resolve);
    });
    return link;
  }

  /** Where new connections go: ports of 127.0.0.1. */
  target(...ports: readonly number[]): void {
    this.#targets = ports;
  }

  get disturbed(): readonly Disturbed[] {
    return this.#disturbed;
  }

  disturb(fault: LinkFault): void {
    this.#fault = fault;
    this.#note();
    if (fault.refuse === true) this.cut();
  }

  loseAnswer({ request, afterBytes = 0, times = 1 }: LostAnswer): void {
    this.#lost = { request: request ?? null, afterBytes, times };
    this.#note();
  }

  /** Everything passes again; an answer that was still to be lost is not. */
  heal(): void {
    this.#fault = {};
    this.#lost = null;
    const last = this.#disturbed.at(-1);
    if (last?.toMs === Number.POSITIVE_INFINITY) last.toMs = Date.now();
    for (const release of this.#held.splice(0)) release();
  }

  /** Cuts all connections by a reset. */
  cut(): void {
    this.#note(Date.now());
    this.met += this.#pairs.size;
    for (const pair of this.#pairs) this.#end(pair);
  }

  async close(): Promise<void> {
    this.#held.length = 0;
    this.cut();
    await new Promise((resolve) => {
      this.#listener.close(resolve);
    });
  }

  #note(toMs = Number.POSITIVE_INFINITY): void {
    if (this.#disturbed.at(-1)?.toMs === Number.POSITIVE_INFINITY) return;
    this.#disturbed.push({ link: this.name, fromMs: Date.now(), toMs });
  }

  #accept(client: Socket): void {
    client.on('error', () => {});
    if (this.#fault.refuse === true || this.#targets.length === 0) {
      if (this.#fault.refuse === true) this.met += 1;
      client.resetAndDestroy();
      return;
    }
    this.#turn += 1;
    this.#connect(client, this.#targets.length);
  }

  #connect(client: Socket, tries: number): void {
    const port = this.#targets[(this.#turn + tries) % this.#targets.length] ?? 0;
    const server = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    const fail = () => {
      server.destroy();
      if (tries > 1 && !client.destroyed) this.#connect(client, tries - 1);
      else client.resetAndDestroy();
    };
    server.once('error', fail);
    server.once('connect', () => {
      server.off('error', fail);
      server.on('error', () => {});
      this.#join({ client, server, left: null });
    });
  }

  #join(pair: Pair): void {
    const { client, server } = pair;
    client.setNoDelay(true);
    this.#pairs.add(pair);
    this.#pass(pair, client, server, 'up');
    this.#pass(pair, server, client, 'down');
    for (const socket of [client, server]) socket.once('close', () => this.#end(pair));
  }

  #pass(pair: Pair, from: Socket, to: Socket, way: 'up' | 'down'): void {
    let before = Promise.resolve();
    from.on('data', (chunk: Buffer) => {
      from.pause();
      before = before.then(async () => {
        await this.#wait(way);
        if (way === 'up') this.#arm(pair, chunk);
        if (way === 'down' && pair.left !== null) return this.#lose(pair, chunk);
        if (!to.destroyed && !to.write(chunk)) await drained(to);
        from.resume();
        return undefined;
      });
    });
    from.once('end', () => {
      before = before.then(() => void to.end());
    });
  }

  async #wait(way: 'up' | 'down'): Promise<void> {
    const { delayMs = 0, stall } = this.#fault;
    if (stall === way || delayMs > 0) this.met += 1;
    if (stall === way) await new Promise<void>((resolve) => this.#held.push(resolve));
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
  }

  #arm(pair: Pair, chunk: Buffer): void {
    const lost = this.#lost;
    if (lost === null || pair.left !== null) return;
    if (lost.request !== null && !lost.request.test(chunk.toString('latin1'))) return;
    pair.left = lost.afterBytes;
    lost.times -= 1;
    if (lost.times <= 0) this.#lost = null;
  }

  #lose(pair: Pair, chunk: Buffer): void {
    const left = pair.left ?? 0;
    pair.left = left - chunk.length;
    if (left >= chunk.length) {
      pair.client.write(chunk);
      pair.server.resume();
      return;
    }
    this.answersLost += 1;
    if (left > 0) pair.client.write(chunk.subarray(0, left), () => this.#end(pair));
    else this.#end(pair);
  }

  #end(pair: Pair): void {
    if (!this.#pairs.delete(pair)) return;
    for (const socket of [pair.client, pair.server]) {
      // What an orderly end has still to write is written; a cut is a reset.
      if (socket.writableEnded || socket.destroyed) socket.destroySoon();
      else socket.resetAndDestroy();
    }
  }
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.on('drain', done).on('close', done);
  });
}
