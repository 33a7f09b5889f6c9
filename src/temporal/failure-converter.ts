import { DefaultFailureConverter } from '@temporalio/common';

/** Puts messages and stacks of failures into a payload, so that the codec encrypts them. Temporal loads it by its path. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
