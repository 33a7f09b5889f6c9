import type { JsonObject } from '../../src/domain/json.ts';
import type { CancelAnswer, Observation, Provider, SubmitAnswer } from '../../src/domain/provider.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import type { RunningSimulator, SimulatorOptions } from '../../src/simulators/core.ts';
import type { ScriptedAnswer } from './scripted-server.ts';

/** One row: what the provider answers, and what that must mean. */
export interface Row<T> {
  readonly name: string;
  readonly answer: ScriptedAnswer;
  readonly expect: T;
}

/** How a provider signs; absent for one that does not. */
interface CallbackFixture {
  /** Lower case. */
  readonly header: string;
  readonly secret: string;
  /** The same secret in the form that this provider does not use as a key. */
  readonly wrongKeyForms: readonly string[];
  readonly sign: (body: Buffer, secrets: readonly string[], t: string | number) => string;
  readonly body: (jobId: string) => string;
  readonly type: string;
  /** Header values that never verify, made from a good one. */
  readonly forgeries: readonly (readonly [name: string, forge: (good: string) => string])[];
}

/** What the contract suite needs to know of one provider. */
export interface ProviderFixture {
  readonly name: string;
  readonly create: (http: OutboundHttp, baseUrl: string, nowMs?: () => number) => Provider;
  /** The time at which the rows below are answered. */
  readonly nowMs: number;
  readonly startSimulator: (options: SimulatorOptions) => Promise<RunningSimulator>;
  readonly providerModel: string;
  readonly input: (prompt: string) => JsonObject;
  readonly apiKey: string;
  /** The id in the scripted answers below. */
  readonly jobId: string;
  readonly submitRows: readonly Row<SubmitAnswer>[];
  readonly observeRows: readonly Row<Observation>[];
  readonly cancelRows: readonly Row<CancelAnswer>[];
  readonly callbacks: CallbackFixture;
  /** An output URL on the provider's own host, and one elsewhere. */
  readonly outputUrls: { readonly own: string; readonly foreign: string };
}

export const CREDENTIAL_NAME = 'default';
