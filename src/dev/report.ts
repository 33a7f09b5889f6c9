import type { GenerationView } from '../domain/generation-view.ts';
import type { Credits, SampleResult } from './sample.ts';
import type { Seed } from './seed.ts';
import type { Stack } from './stack.ts';

export interface Report {
  readonly stack: Stack;
  readonly seed: Seed;
  readonly samples: readonly SampleResult[];
  readonly creditsBefore: Credits;
  readonly creditsAfter: Credits;
  readonly seconds: number;
}

/** One line for `--json`. */
export function reportJson({ stack, seed, samples, creditsBefore, creditsAfter, seconds }: Report): string {
  return JSON.stringify({
    api_url: stack.apiUrl,
    temporal_ui_url: stack.temporalUiUrl,
    api_key: seed.apiKey,
    admin_key: seed.adminKey,
    simulators: stack.simulators,
    generations: samples,
    credits_before: credits(creditsBefore),
    credits_after: credits(creditsAfter),
    seconds,
  });
}

const credits = ({ available, held, spent }: Credits): Credits => ({ available, held, spent });

const balance = (of: Credits): string => `${of.available} available, ${of.held} held, ${of.spent} spent`;

/** What a person reads after the samples. */
export function reportText(report: Report): string {
  const { stack, seed, samples, creditsBefore, creditsAfter, seconds } = report;
  const lines = samples.flatMap((sample) => [
    `${sample.model}: ${sample.state}${sample.finished_by === null ? '' : `, finished by ${sample.finished_by}`}, ${sample.credits.captured} credits captured`,
    ...(sample.output === null
      ? []
      : [
          `  output   ${sample.output.path} (${sample.output.media_type}, ${sample.output.bytes} bytes)`,
          `  link     ${sample.output.url}`,
        ]),
    `  status   ${stack.apiUrl}/v1/generations/${sample.id}`,
    ...(stack.temporalUiUrl === null ? [] : [`  run      ${runUrl(stack.temporalUiUrl, sample.id)}`]),
  ]);
  return [
    '',
    ...lines,
    '',
    `credits before   ${balance(creditsBefore)}`,
    `credits after    ${balance(creditsAfter)}`,
    '',
    `API              ${stack.apiUrl}`,
    `API docs         ${stack.apiUrl}/docs`,
    `Temporal UI      ${stack.temporalUiUrl ?? 'that of TEMPORAL_ADDRESS'}`,
    ...Object.entries(stack.simulators).map(([name, url]) => `${`${name} sim`.padEnd(16)} ${url}`),
    `API key          ${seed.apiKey}`,
    `admin key        ${seed.adminKey}`,
    `ready in         ${seconds.toFixed(1)} s`,
    '',
  ].join('\n');
}

/** The run of a generation in Temporal's Web UI. */
export function runUrl(temporalUiUrl: string, generationId: string): string {
  return `${temporalUiUrl}/namespaces/default/workflows/${generationId}`;
}

/** On a terminal one line that is written over; elsewhere a line for each change. */
export function progressPrinter(stream: NodeJS.WriteStream): {
  show(views: readonly GenerationView[]): void;
  end(): void;
} {
  const startedAt = performance.now();
  let last = '';
  return {
    show(views) {
      const states = views.map(({ model, state, stage, progress }) => {
        const percent = progress === null || stage !== 'waiting' ? '' : ` ${Math.round(progress * 100)} %`;
        return `${model}: ${stage === 'done' ? state : stage}${percent}`;
      });
      const text = states.join('  |  ');
      if (stream.isTTY) {
        const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
        stream.write(`\r\u001b[K${`${seconds} s  ${text}`.slice(0, (stream.columns || 80) - 1)}`);
      } else if (text !== last) stream.write(`${text}\n`);
      last = text;
    },
    end() {
      if (stream.isTTY) stream.write('\r\u001b[K');
    },
  };
}
