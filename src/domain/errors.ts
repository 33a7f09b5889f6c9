/** One way for a generation to end without its outputs: retryable for the tenant, safe text, next step. */
interface GenerationErrorInfo {
  readonly retryable: boolean;
  readonly message: string;
}

/** The closed list of a generation's error codes (design.md §6). Texts are safe to show to anyone. */
export const GENERATION_ERRORS = {
  invalid_input: {
    retryable: false,
    message: 'The provider refused this input. Change the input and create a new generation.',
  },
  content_rejected: {
    retryable: false,
    message: 'The content was rejected by moderation. Change the prompt or the input media.',
  },
  provider_unavailable: {
    retryable: true,
    message: 'No provider could take the job in time. Create a new generation later.',
  },
  provider_rejected: {
    retryable: true,
    message: 'The provider refused the job. Create a new generation; if it repeats, ask your operator.',
  },
  provider_failed: {
    retryable: true,
    message: 'The provider failed while rendering. Create a new generation to try again.',
  },
  no_output: {
    retryable: true,
    message: 'The provider finished without any usable output. Create a new generation to try again.',
  },
  output_lost: {
    retryable: true,
    message: 'The output could not be fetched before it expired. Create a new generation to try again.',
  },
  output_invalid: {
    retryable: true,
    message: 'The provider delivered an output of a wrong type or size. Create a new generation.',
  },
  deadline_exceeded: {
    retryable: true,
    message: 'The job did not finish before its deadline. Create a new generation, with a longer deadline.',
  },
  submission_unresolved: {
    retryable: true,
    message:
      'It stayed unknown whether the provider took the job. Nothing was charged; create a new generation.',
  },
} as const satisfies Record<string, GenerationErrorInfo>;

export type GenerationErrorCode = keyof typeof GENERATION_ERRORS;

/** The codes a `failed` generation can carry; the other two belong to `expired`. */
export type FailedCode = Exclude<GenerationErrorCode, 'deadline_exceeded' | 'submission_unresolved'>;
