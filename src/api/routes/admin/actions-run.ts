import { cancelAsOperator } from '../../../services/cancel-as-operator.ts';
import { observeNow } from '../../../services/observe-now.ts';
import { redeliverGeneration } from '../../../services/redeliver-generation.ts';
import { wakeGeneration } from '../../../services/wake-generation.ts';
import { actionBody, actionRoute } from './actions-parts.ts';

const example = { reason: 'ticket 4711' };

/** Makes its run look at its rows, also where it was lost. */
export const wakeGenerationRoute = actionRoute({
  action: 'wake',
  operationId: 'wakeGeneration',
  summary: 'Wake a generation',
  description:
    'Its run looks at its rows now and goes on where they say, also in stage `needs_operator`; a run that was lost is started ' +
    'again. While Temporal is away the sweep does it later. It changes nothing by itself, and may be repeated.',
  body: actionBody,
  example,
  act: wakeGeneration,
});

/** The tenant's own cancel, by an operator. */
export const cancelByOperatorRoute = actionRoute({
  action: 'cancel',
  operationId: 'cancelGenerationAsOperator',
  summary: 'Cancel a generation as an operator',
  description:
    'The same as the tenant’s own cancel, without the limits of the tenant. `cancelled`: ended and released there and then, since ' +
    'no provider can have the job. `requested`: the provider is asked, and its answer decides.',
  body: actionBody,
  example,
  act: cancelAsOperator,
});

/** A look at the job before its time. */
export const observeGenerationRoute = actionRoute({
  action: 'observe',
  operationId: 'observeGeneration',
  summary: 'Look at the job of a generation now',
  description:
    'The provider is asked now, whatever the time of the next poll (at most once in two seconds). Of a generation that has ended, ' +
    'the job is looked at within seconds if it is not known to have ended: its cost is booked, nothing changes for the tenant.',
  body: actionBody,
  example,
  act: observeNow,
});

/** All that was told of a generation, once more. */
export const redeliverGenerationRoute = actionRoute({
  action: 'redeliver',
  operationId: 'redeliverGeneration',
  summary: 'Send all webhooks of a generation again',
  description:
    'Each delivery is due at once, with its whole schedule before it and the id that it had. Those whose attempt is under way are ' +
    'left alone, those of disabled and deleted endpoints are left out; at most 1,000 in one call.',
  body: actionBody,
  example,
  act: redeliverGeneration,
});
