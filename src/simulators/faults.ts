import { z } from 'zod';

const anyFault = {
  /** Only jobs whose prompt contains this text, so that one test disturbs no other. */
  match: z.strictObject({ prompt: z.string().min(1) }).optional(),
  /** How often it strikes; without it, always. */
  times: z.int().positive().optional(),
};
const ms = z.int().nonnegative().max(600_000);
const secrets = z.array(z.string().min(1)).min(1).max(8);
const fault = <K extends string, S extends z.ZodRawShape>(kind: K, settings: S) =>
  z.strictObject({ kind: z.literal(kind), ...anyFault, ...settings });

/** All faults with their settings; explained in help.ts. */
export const faultSchema = z.discriminatedUnion('kind', [
  fault('slow_submit', { ms }),
  fault('reset_before_accept', {}),
  fault('reset_after_accept', {}),
  fault('answer_lost_then_ok', {}),
  fault('status_429', { retry_after: z.union([z.int().nonnegative(), z.string()]).optional() }),
  fault('status_5xx', { status: z.int().min(500).max(599).default(503) }),
  fault('status_5xx_after_accept', { status: z.int().min(500).max(599).default(502) }),
  fault('refuse', {
    status: z.int().min(400).max(499).default(400),
    /** In the provider's own words; its usual ones for bad input if not given. */
    type: z.string().optional(),
    code: z.string().optional(),
  }),
  fault('refuse_content', {}),
  fault('error_in_200', {}),
  fault('html', { status: z.int().min(200).max(599).default(200) }),
  fault('missing_id', {}),
  fault('unknown_status', { status: z.string().min(1) }),
  fault('stuck', {}),
  fault('fail', { code: z.string().min(1).default('render_error') }),
  fault('moderated', {}),
  fault('succeeded_without_output', { output: z.enum(['empty', 'null']).default('empty') }),
  fault('render_ms', { ms }),
  fault('link_404', {}),
  fault('link_html', {}),
  fault('link_truncated', {}),
  fault('link_empty', {}),
  fault('link_wrong_type', {}),
  fault('link_huge', { bytes: z.int().positive().default(10_737_418_240) }),
  fault('link_slow', { ms: ms.default(1_000) }),
  fault('link_redirect_private', { url: z.string().default('http://169.254.169.254/latest/meta-data/') }),
  fault('no_callbacks', {}),
  fault('callback_before_answer', {}),
  fault('callback_twice', {}),
  fault('callback_twenty', {}),
  fault('callback_late', { ms }),
  fault('callback_reordered', {}),
  fault('callback_forged', {}),
  fault('callback_rotated', { secrets }),
  fault('observe_5xx', { status: z.int().min(400).max(599).default(503) }),
  fault('observe_404', {}),
  fault('observe_hang', {}),
  fault('observe_error_in_200', {}),
  fault('cancel_5xx', { status: z.int().min(500).max(599).default(503) }),
  fault('cancel_succeeded', {}),
]);
export type Fault = z.infer<typeof faultSchema>;
export type FaultKind = Fault['kind'];
export type FaultOf<K extends FaultKind> = Extract<Fault, { readonly kind: K }>;

const MAX_FAULTS = 1_000;

interface ActiveFault {
  readonly id: number;
  readonly fault: Fault;
  struck: number;
}

/** The faults in force, first match first. */
export class FaultList {
  #active: ActiveFault[] = [];
  #nextId = 1;

  /** Adds one fault; an Error when 1000 are in force already. */
  add(fault: Fault): number {
    if (this.#active.length >= MAX_FAULTS)
      throw new Error('1000 faults are in force: POST /_sim/reset first');
    const id = this.#nextId++;
    this.#active.push({ id, fault, struck: 0 });
    return id;
  }

  clear(): void {
    this.#active = [];
  }

  /** All faults that still can strike, and how often each did. */
  list(): readonly (Fault & { readonly id: number; readonly struck: number })[] {
    return this.#active.map(({ id, fault, struck }) => ({ ...fault, id, struck }));
  }

  /** The first fault of one of these kinds that fits the prompt; counts as one strike. */
  take<K extends FaultKind>(prompt: string, ...kinds: readonly K[]): FaultOf<K> | undefined {
    const hit = this.#active.find(
      ({ fault, struck }) =>
        (kinds as readonly FaultKind[]).includes(fault.kind) &&
        (fault.match === undefined || prompt.includes(fault.match.prompt)) &&
        (fault.times === undefined || struck < fault.times),
    );
    if (hit === undefined) return undefined;
    hit.struck++;
    return hit.fault as FaultOf<K>;
  }
}
