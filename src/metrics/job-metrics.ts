import { Counter, Registry } from 'prom-client';
import type { Observation, SubmitAnswer } from '../domain/provider.ts';
import { OBSERVATION_KINDS, OUTPUT_PROBLEMS, type OutputProblem, SUBMIT_KINDS } from './labels.ts';

/** What this process has counted of its own calls about jobs. */
export const jobMetrics = new Registry();

const registers = [jobMetrics];
const submits = new Counter({
  name: 'darkroom_submit_answers_total',
  help: 'What the answers to submits proved.',
  labelNames: ['provider', 'kind'],
  registers,
});
const observations = new Counter({
  name: 'darkroom_observations_total',
  help: 'Looks at jobs by what was seen; unavailable = the call failed and says nothing about the job.',
  labelNames: ['provider', 'kind'],
  registers,
});
const unknownStatuses = new Counter({
  name: 'darkroom_unknown_statuses_total',
  help: 'Looks that saw a status string which is not in the table of the provider (taken as running).',
  labelNames: ['provider'],
  registers,
});
const outputProblems = new Counter({
  name: 'darkroom_output_problems_total',
  help: 'Attempts at outputs that were rendered and not stored, by reason: our storage, scanner or settings, or what came in the place of the file.',
  labelNames: ['problem'],
  registers,
});

/** Counts the answer to one submit. */
export function countSubmit(provider: string, kind: SubmitAnswer['kind']): void {
  submits.inc({ provider, kind });
}

/** Counts one look at a job. */
export function countObservation(provider: string, observation: Observation): void {
  observations.inc({ provider, kind: observation.kind });
  if (observation.kind === 'running' && observation.unknownStatus) unknownStatuses.inc({ provider });
}

/** Counts one attempt whose file was not stored for this. */
export function countOutputProblem(problem: OutputProblem): void {
  outputProblems.inc({ problem });
}

/** Every series from 0 on: a counter that appears with its first event shows no increase. */
export function presetJobMetrics(providers: Iterable<string>): void {
  for (const problem of OUTPUT_PROBLEMS) outputProblems.inc({ problem }, 0);
  for (const provider of providers) {
    for (const kind of SUBMIT_KINDS) submits.inc({ provider, kind }, 0);
    for (const kind of OBSERVATION_KINDS) observations.inc({ provider, kind }, 0);
    unknownStatuses.inc({ provider }, 0);
  }
}
