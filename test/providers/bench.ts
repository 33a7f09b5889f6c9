import { afterAll, beforeAll } from 'vitest';
import type {
  CallOptions,
  Observation,
  Provider,
  ProviderHandle,
  SubmitAnswer,
} from '../../src/domain/provider.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { Control, eventually } from '../simulators/control.ts';
import { CREDENTIAL_NAME, type ProviderFixture } from './fixture.ts';
import { httpTo } from './scripted-server.ts';

const RENDER_MS = 40;
export const SIMULATOR_SECRET = 'whsec_c2ltdWxhdG9yIHNlY3JldA==';

/** The handle of an accepted job; an Error for any other answer. */
export function accepted(answer: SubmitAnswer): ProviderHandle {
  if (answer.kind !== 'accepted') throw new Error(`not accepted: ${answer.kind} ${answer.reason}`);
  return answer.handle;
}

/** A provider's adapter before its simulator, for the tests of one describe. */
export interface Bench {
  readonly provider: Provider;
  readonly control: Control;
  readonly http: OutboundHttp;
  readonly options: CallOptions;
  /** A text that no other job of the bench has. */
  readonly newPrompt: () => string;
  /** Keys are made distinct by the prompt, where a test does not give one. */
  readonly submit: (
    prompt: string,
    key?: string,
    over?: Partial<CallOptions>,
    callbackUrl?: string | null,
  ) => Promise<SubmitAnswer>;
  /** What the job ended as. */
  readonly ended: (handle: ProviderHandle) => Promise<Observation>;
  /** The handle of a job that never was. */
  readonly noSuchJob: () => ProviderHandle;
}

/** Starts simulator and adapter before the tests of this describe, and stops them after. Filled once they run. */
export function simulatorBench(fixture: ProviderFixture): Bench {
  let simulator: RunningSimulator;
  let control: Control;
  let http: OutboundHttp;
  let provider: Provider;
  let made = 0;
  const options: CallOptions = {
    credential: { name: CREDENTIAL_NAME, apiKey: fixture.apiKey },
    timeoutMs: 10_000,
  };

  beforeAll(async () => {
    simulator = await startSimulator(fixture.simulator, {
      apiKeys: [fixture.apiKey],
      renderMs: RENDER_MS,
      webhookSecrets: [SIMULATOR_SECRET],
    });
    control = new Control(simulator.url);
    http = httpTo(simulator.url);
    provider = fixture.create(http, simulator.url);
  });
  afterAll(async () => {
    await http.close();
    await simulator.close();
  });

  return {
    get provider() {
      return provider;
    },
    get control() {
      return control;
    },
    get http() {
      return http;
    },
    options,
    newPrompt: () => `contract prompt ${++made}.`,
    submit: (prompt, key = prompt.replaceAll(/[ .]/g, '-'), over = {}, callbackUrl = null) => {
      const input = fixture.input(prompt);
      const secret = callbackUrl === null ? {} : { callbackSecret: SIMULATOR_SECRET };
      const job = { ...fixture.job, input, callbackUrl, ...secret, idempotencyKey: key };
      return provider.submit(provider.buildSubmit(job), key, { ...options, ...over });
    },
    ended: (handle) =>
      eventually(async () => {
        const observation = await provider.observe(handle, options);
        return observation.kind === 'running' ? undefined : observation;
      }),
    noSuchJob: () => fixture.handle?.(simulator.url) ?? { jobId: fixture.jobId },
  };
}
