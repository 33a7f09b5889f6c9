import type { CallbackSender } from './callbacks.ts';
import type { FaultList } from './faults.ts';
import { isEnded, type Job } from './jobs.ts';
import type { Journal } from './journal.ts';
import type { Protocol, SimulatedEvent } from './protocol.ts';

interface AnnouncerParts {
  readonly faults: FaultList;
  readonly journal: Journal;
  readonly sender: CallbackSender;
  readonly secrets: () => readonly string[];
  readonly protocol: () => Protocol;
}

/** How one event is sent: to whom, signed with what. */
interface Delivery {
  readonly url: string;
  readonly secrets: () => readonly string[];
  readonly forged: boolean;
}

const FORGED_SECRETS = ['whsec_forged'];

/** The same URL with another end: what an outsider can send who does not know a token in it. */
function withWrongToken(url: string): string {
  return `${url.slice(0, -8)}AAAAAAAA`;
}

/** Sends the callbacks of jobs as they change, with their faults. */
export class Announcer {
  readonly #parts: AnnouncerParts;
  readonly #firstAttempts = new WeakMap<Job, Promise<void>>();

  constructor(parts: AnnouncerParts) {
    this.#parts = parts;
  }

  /** Resolves when the job's newest callback was first answered; at once if none is on its way. */
  firstAttempt(job: Job): Promise<void> {
    return this.#firstAttempts.get(job) ?? Promise.resolve();
  }

  /** Announces the state that the job has just reached, if this provider does. */
  changed(job: Job): void {
    const { faults, protocol } = this.#parts;
    if (job.webhookUrl === null) return;
    if (job.state === 'queued') this.#forge(job);
    if (!protocol().announces(job) || faults.take(job.prompt, 'no_callbacks') !== undefined) return;
    if (isEnded(job.state)) this.#announceEnd(job, job.webhookUrl);
    else void this.#deliver(job, protocol().event(job), this.#honest(job, job.webhookUrl));
  }

  #announceEnd(job: Job, url: string): void {
    const { faults, sender, protocol } = this.#parts;
    const event = protocol().event(job);
    const delivery = this.#honest(job, url);
    const many = faults.take(job.prompt, 'callback_twice', 'callback_twenty');
    const copies = many === undefined ? 1 : many.kind === 'callback_twice' ? 2 : 20;
    const late = faults.take(job.prompt, 'callback_late');
    const stale =
      faults.take(job.prompt, 'callback_reordered') === undefined
        ? null
        : protocol().event({ ...job, state: 'running', completedAtMs: null, expiresAtMs: null });
    const deliver = () => {
      const sent = Array.from({ length: copies }, () => this.#deliver(job, event, delivery));
      if (stale !== null) void Promise.all(sent).then(() => this.#deliver(job, stale, delivery));
      return Promise.all(sent);
    };
    if (late === undefined)
      this.#firstAttempts.set(
        job,
        deliver().then(() => undefined),
      );
    else sender.after(late.ms, () => void deliver());
  }

  #honest(job: Job, url: string): Delivery {
    const rotated = this.#parts.faults.take(job.prompt, 'callback_rotated');
    return { url, secrets: () => rotated?.secrets ?? this.#parts.secrets(), forged: false };
  }

  /** A success that did not happen: with a wrong signature, or to a wrong URL where nothing is signed. */
  #forge(job: Job): void {
    const { faults, protocol } = this.#parts;
    if (job.webhookUrl === null || faults.take(job.prompt, 'callback_forged') === undefined) return;
    const now = Date.now();
    const event = protocol().event({
      ...job,
      state: 'succeeded',
      completedAtMs: now,
      expiresAtMs: now + 60_000,
    });
    const headers = protocol().callbackHeaders(event, job, FORGED_SECRETS, now);
    const signs = Object.keys(headers).length > 0;
    const url = signs ? job.webhookUrl : withWrongToken(job.webhookUrl);
    void this.#deliver(job, event, { url, secrets: () => FORGED_SECRETS, forged: true });
  }

  /** Resolves when the first attempt was answered, or when the provider may not call there. An outsider does not ask. */
  #deliver(job: Job, event: SimulatedEvent, { url, secrets, forged }: Delivery): Promise<void> {
    const { sender, journal, protocol } = this.#parts;
    const allowed = forged ? undefined : protocol().mayCall?.(url);
    return new Promise<void>((resolve) => {
      const send = () =>
        sender.send({
          url,
          body: event.body,
          headers: () => protocol().callbackHeaders(event, job, secrets(), Date.now()),
          onAttempt: (attempt, answer) => {
            const { id, type } = event;
            journal.callback(job.journal, { event_id: id, type, attempt, forged, answer });
            resolve();
          },
        });
      if (allowed === undefined) send();
      else void allowed.then((passed) => (passed ? send() : resolve()));
    });
  }
}
