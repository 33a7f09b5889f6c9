import { createHmac, randomUUID } from 'node:crypto';
import type { Protocol, SimulatedEvent, SimulatorContext } from './core.ts';
import type { Job } from './jobs.ts';

/** `INFRO-Signature`: one v1 per active secret, over `"{t}." + body`, keyed with the whole secret string. */
export function signInfro(
  body: Buffer,
  secrets: readonly string[],
  atMs: number,
): Readonly<Record<string, string>> {
  const t = Math.floor(atMs / 1_000);
  const signed = Buffer.concat([Buffer.from(`${t}.`), body]);
  const signatures = secrets.map(
    (secret) => `v1=${createHmac('sha256', secret).update(signed).digest('hex')}`,
  );
  return { 'infro-signature': [`t=${t}`, ...signatures].join(',') };
}

/** The event of a job's present (or the given) type; its id is new unless given. */
export function infroEvent(
  jobJson: (job: Job) => unknown,
  job: Job,
  type: string = `job.${job.status}`,
  id: string = `evt_${randomUUID().replaceAll('-', '')}`,
): SimulatedEvent {
  const event = { id, type, created_at: Math.floor(Date.now() / 1_000), data: jobJson(job) };
  return { id, type, body: Buffer.from(JSON.stringify(event)) };
}

/** Sends the callbacks of jobs, with their faults; `firstAttempt` tells when the first was answered. */
export class InfroCallbacks {
  readonly #context: SimulatorContext;
  readonly #event: Protocol['event'];
  readonly #firstAttempts = new WeakMap<Job, Promise<void>>();

  constructor(context: SimulatorContext, event: Protocol['event']) {
    this.#context = context;
    this.#event = event;
  }

  firstAttempt(job: Job): Promise<void> {
    return this.#firstAttempts.get(job) ?? Promise.resolve();
  }

  /** A success that did not happen, signed with a secret that is not INFRO's. */
  forge(job: Job): void {
    if (job.webhookUrl === null) return;
    if (this.#context.faults.take(job.prompt, 'callback_forged') === undefined) return;
    this.#deliver(job, this.#event(job, 'job.succeeded'), true);
  }

  /** The event of a job that has just ended. */
  announce(job: Job): void {
    const { faults, sender } = this.#context;
    if (job.webhookUrl === null || faults.take(job.prompt, 'no_callbacks') !== undefined) return;
    const event = this.#event(job);
    const copies = faults.take(job.prompt, 'callback_twice') === undefined ? 1 : 2;
    const late = faults.take(job.prompt, 'callback_late');
    const deliver = () => {
      for (let copy = 0; copy < copies; copy++) this.#deliver(job, event, false);
    };
    if (late === undefined) deliver();
    else sender.after(late.ms, deliver);
  }

  #deliver(job: Job, event: SimulatedEvent, forged: boolean): void {
    const context = this.#context;
    const secrets = () => (forged ? ['whsec_forged'] : context.secrets);
    const answered = new Promise<void>((resolve) => {
      context.sender.send({
        url: job.webhookUrl ?? '',
        body: event.body,
        headers: () => signInfro(event.body, secrets(), Date.now()),
        onAttempt: (attempt, answer) => {
          context.journal.callback(job.journal, {
            event_id: event.id,
            type: event.type,
            attempt,
            forged,
            answer,
          });
          resolve();
        },
      });
    });
    if (!forged) this.#firstAttempts.set(job, answered);
  }
}
