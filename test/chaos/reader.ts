import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GenerationView } from '../../src/domain/generation-view.ts';
import { type Answer, type Client, isToBeTriedAgain } from './client.ts';
import type { Chance } from './random.ts';
import { RICH_ACCOUNTS } from './tenant.ts';
import type { Asked, Violation } from './types.ts';

const TURN_MS = 120;
const FILE_MS = 20_000;
/** Of those that are read, so many have not ended as far as we know. */
const OPEN_SHARE = 0.7;
/** Every so many turns a list, a balance. */
const LIST_EVERY = 20;
const BALANCE_EVERY = 25;
const PAGE = 10;
const PAGES = 5;
/** Of those that have ended, so many are downloaded; each file is tried so often. */
const DOWNLOADED = 0.4;
const FILE_TRIES = 5;
const RANKS: Readonly<Record<string, number>> = { queued: 0, running: 1 };
const ENDED = 2;

export interface ReaderInput {
  readonly client: Client;
  readonly asked: () => readonly Asked[];
  readonly chance: Chance;
  readonly signal: AbortSignal;
}

/** A tenant's backend that looks: at single generations, lists, balances and files. What it was told once must stay so. */
export class Reader {
  readonly violations: Violation[] = [];
  /** Answers that were read, by what was asked for. */
  readonly read = { generations: 0, videos: 0, lists: 0, balances: 0, files: 0 };
  readonly #input: ReaderInput;
  /** By id: as it was told when it had ended. */
  readonly #ends = new Map<string, string>();
  readonly #ranks = new Map<string, number>();
  readonly #toFetch: GenerationView[] = [];
  #stopped = false;

  constructor(input: ReaderInput) {
    this.#input = input;
  }

  /** Until `finish`. */
  async run(): Promise<void> {
    await Promise.all([this.#look(), this.#download()]);
  }

  async #look(): Promise<void> {
    const { asked, chance, signal } = this.#input;
    for (let turn = 1; !this.#stopped && !signal.aborted; turn++) {
      if (turn % LIST_EVERY === 0) await this.#list();
      else if (turn % BALANCE_EVERY === 0) await this.#balance();
      else {
        const ids = asked().flatMap(({ id }) => (id === null ? [] : [id]));
        const open = ids.filter((id) => !this.#ends.has(id));
        const among = open.length > 0 && chance.hits(OPEN_SHARE) ? open : ids;
        if (among.length > 0) await this.#get(chance.pick(among));
      }
      await sleep(TURN_MS);
    }
  }

  /** Nothing is broken any more: each one is read once more. */
  async finish(): Promise<void> {
    this.#stopped = true;
    for (const { id } of this.#input.asked()) {
      if (id !== null && !(await this.#get(id)))
        this.#wrong('the API answers again', id, 'GET is not answered');
    }
  }

  async #get(id: string): Promise<boolean> {
    const { client, chance } = this.#input;
    if (chance.hits(0.1)) await this.#video(id);
    const path = `/v1/generations/${id}`;
    const answer = await client.call('GET', path);
    if (!isRead(client, `GET ${path}`, answer)) return false;
    this.read.generations += 1;
    this.#see(JSON.parse(answer.text) as GenerationView);
    return true;
  }

  /** The other shape never tells an end that is not one; images are no videos. */
  async #video(id: string): Promise<void> {
    const { client } = this.#input;
    const path = `/v1/videos/${id}`;
    const answer = await client.call('GET', path, { also: { 404: /^video_not_found$/ } });
    if (answer?.status === 404 || !isRead(client, `GET ${path}`, answer)) return;
    this.read.videos += 1;
    const { status } = JSON.parse(answer.text) as { status: string };
    const end = this.#ends.get(id);
    if (end === undefined) return;
    const { state } = JSON.parse(end) as GenerationView;
    if (status === (state === 'succeeded' ? 'completed' : 'failed')) return;
    this.#wrong('an end never changes', id, `it was told as ${state}, and as a video it is ${status}`);
  }

  #see(view: GenerationView): void {
    const { id, state } = view;
    const rank = RANKS[state] ?? ENDED;
    const before = this.#ranks.get(id) ?? 0;
    if (rank < before)
      this.#wrong('a state only moves forward', id, `it was further on, and is ${state} again`);
    this.#ranks.set(id, Math.max(rank, before));
    if (rank < ENDED) return;
    const end = withoutLinks(view);
    const told = this.#ends.get(id);
    if (told === undefined) {
      this.#ends.set(id, end);
      if (view.outputs.length > 0 && this.#input.chance.hits(DOWNLOADED)) this.#toFetch.push(view);
    } else if (told !== end) this.#wrong('an end never changes', id, `${told} became ${end}`);
  }

  /** Some pages from the newest on: no generation twice, each as it is told alone. */
  async #list(): Promise<void> {
    const { client } = this.#input;
    const seen = new Set<string>();
    let after = '';
    for (let page = 0; page < PAGES; page++) {
      const path = `/v1/generations?limit=${PAGE}${after}`;
      const answer = await client.call('GET', path);
      if (!isRead(client, `GET ${path}`, answer)) return;
      this.read.lists += 1;
      const told = JSON.parse(answer.text) as {
        data: GenerationView[];
        has_more: boolean;
        next_cursor: string | null;
      };
      for (const view of told.data) {
        if (seen.has(view.id))
          this.#wrong('a list has each once', view.id, `it is on page ${page + 1} again`);
        seen.add(view.id);
        this.#see(view);
      }
      if (!told.has_more) return;
      after = `&after=${told.next_cursor}`;
    }
  }

  async #balance(): Promise<void> {
    const { client, chance } = this.#input;
    const account = chance.pick(RICH_ACCOUNTS);
    const path = `/v1/accounts/${account}/credits`;
    const answer = await client.call('GET', path);
    if (!isRead(client, `GET ${path}`, answer)) return;
    this.read.balances += 1;
    const { available, held, spent, granted } = JSON.parse(answer.text) as Record<string, number>;
    if ((available ?? -1) + (held ?? 0) + (spent ?? 0) === granted) return;
    this.#wrong('a balance adds up', null, `${account}: ${answer.text}`);
  }

  async #download(): Promise<void> {
    while (!this.#input.signal.aborted && !(this.#stopped && this.#toFetch.length === 0)) {
      const view = this.#toFetch.shift();
      if (view === undefined) await sleep(TURN_MS);
      else for (const output of view.outputs) await this.#file(view.id, output);
    }
  }

  /** By its link, as a browser does it: whole, and the bytes that were told. */
  async #file(id: string, { index, url, sha256 }: GenerationView['outputs'][number]): Promise<void> {
    const { client, signal } = this.#input;
    if (url === null) return this.#wrong('a delivered file can be read', id, `output ${index} has no link`);
    for (let tried = 0; tried < FILE_TRIES && !signal.aborted; tried++) {
      if (tried > 0) await sleep(1_000);
      const answer = await fetch(url, { signal: AbortSignal.timeout(FILE_MS) })
        .then(async (got) => ({ status: got.status, bytes: Buffer.from(await got.arrayBuffer()) }))
        .catch(() => null);
      if (answer === null || answer.status === 503) continue;
      const hash = createHash('sha256').update(answer.bytes).digest('hex');
      if (answer.status !== 200) {
        client.odd(`GET a file of ${id}`, { status: answer.status, text: answer.bytes.toString('utf8') });
      } else if (hash !== sha256) {
        this.#wrong('a delivered file can be read', id, `output ${index}: told ${sha256}, sent ${hash}`);
      } else this.read.files += 1;
      return;
    }
  }

  #wrong(check: string, generation: string | null, problem: string): void {
    this.violations.push({ check, generation, problem });
  }
}

/** Any answer but one that says "later" must be a 200 here. */
function isRead(client: Client, request: string, answer: Answer | null): answer is Answer {
  if (answer === null || isToBeTriedAgain(answer)) return false;
  if (answer.status === 200) return true;
  client.odd(request, answer);
  return false;
}

/** Links are made anew with each answer. */
function withoutLinks(view: GenerationView): string {
  const outputs = view.outputs.map(({ url: _url, url_expires_at: _at, ...output }) => output);
  return JSON.stringify({ ...view, outputs });
}
