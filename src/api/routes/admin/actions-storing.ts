import { z } from 'zod';
import { retryStoring, STORE_HOURS } from '../../../services/retry-storing.ts';
import { actionFields, actionRoute } from './actions-parts.ts';

const { min, max, default: usual } = STORE_HOURS;

/** Outputs that were given up, tried again. */
export const retryStoringRoute = actionRoute({
  action: 'retry-storing',
  operationId: 'retryStoring',
  summary: 'Try again to store outputs',
  description:
    'After a success of the provider and before the end: outputs that are lost or invalid are tried again from fresh links, and all ' +
    'open ones for at least so many hours from now. A download that is under way goes on. One that has ended stays ended.',
  body: z.strictObject({
    ...actionFields,
    hours: z
      .int()
      .min(min)
      .max(max)
      .optional()
      .meta({ description: `For how long at least, in hours; ${usual} when left out.` }),
  }),
  example: { reason: 'the bucket is writable again', hours: 24 },
  act: (ctx, input, { hours = usual }) => retryStoring(ctx, { ...input, hours }),
});
