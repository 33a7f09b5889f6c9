import * as lies from './lies.ts';
import { lie, type Lie } from './lies.ts';
import { all, journal } from './simulator-lies.ts';

const ASKED_FOR = 'a cancel is one that was asked for';
const LATE = 'a late success is booked';

const finished = (provider: string, name: Parameters<typeof journal>[1]) =>
  journal(provider, name, () => ({ status: 'succeeded' }));

/** About ends that were told, and what the providers did: deliveries, deadlines, late successes, costs and cancels. */
export const END_LIES: readonly Lie[] = [
  lie('its job was finished', ['a finished job is delivered'], 'failed', finished('infro', 'failed')),
  lie(
    'its job was finished, and told as without an output by no fault',
    ['a finished job is delivered', 'a webhook tells what stands'],
    'failed',
    all(finished('infro', 'failed'), lies.ofRow('generation', 'failed', `error_code = 'no_output'`)),
  ),
  lie(
    'it was cancelled, and its provider was never asked',
    ['a finished job is delivered'],
    'cancelled',
    journal('infro', 'cancelled', () => ({ status: 'succeeded', cancels: 0 })),
  ),
  lie(
    'an output is lost that no fault touched',
    ['an output that was offered is stored'],
    'failed',
    lies.inDatabase(
      'output',
      (id) => `generation_id = '${id}'`,
      (id) =>
        `INSERT INTO output (generation_id, index, state, problem, created_at) VALUES ('${id}', 0, 'lost', 'link_gone', now())`,
      'failed',
    ),
  ),
  lie(
    'it expired before its deadline',
    ['nothing expires before its deadline'],
    'lost',
    lies.ofRow('generation', 'lost', `deadline_at = completed_at + interval '1 millisecond'`),
  ),
  lie(
    'a success after its end is not booked',
    [LATE],
    'failed',
    lies.ofRow('submission', 'failed', `ended_as = 'succeeded'`),
  ),
  lie(
    'a success after its end was overlooked',
    [LATE],
    'cancelled',
    all(
      finished('infro', 'cancelled'),
      lies.ofRow(
        'submission',
        'cancelled',
        `ended_as = NULL, ended_at = NULL, observed_at = now() + interval '1 hour'`,
      ),
    ),
  ),
  lie(
    'it cost more than its provider told',
    ['the books have the cost that was told'],
    'kling',
    lies.ofRow('submission', 'kling', 'cost_amount = cost_amount + 1'),
  ),
  lie(
    'a cancel was taken and forgotten',
    ['a cancel that was taken is in the row'],
    'infro',
    lies.asked('infro', () => ({ cancelled: true })),
  ),
  lie(
    'the tenant never asked to cancel it',
    [ASKED_FOR],
    'cancelled',
    lies.asked('cancelled', () => ({ cancelled: false, cancelSent: false })),
  ),
  lie(
    'it was cancelled by somebody else',
    [ASKED_FOR],
    'cancelled',
    lies.ofRow('generation', 'cancelled', `cancel_requested_by = 'operator'`),
  ),
  lie(
    'its provider was asked to cancel it for no reason',
    [ASKED_FOR],
    'infro',
    journal(
      'infro',
      'infro',
      () => ({}),
      ({ id, created_at: at }, own) => [
        ...own,
        {
          at,
          method: 'POST',
          path: `/v1/jobs/${id}/cancel`,
          authorized: true,
          idempotency_key: null,
          prompt: null,
        },
      ],
    ),
  ),
  lie(
    'the tenant is told that its cancel came too late',
    ['the outcome of a cancel fits the end'],
    'cancelled',
    lies.ofRow('generation', 'cancelled', `cancel_outcome = 'too_late'`),
  ),
  lie(
    'its provider was asked to cancel it twice',
    ['a provider is asked once to cancel'],
    'cancelled',
    journal(
      'infro',
      'cancelled',
      ({ cancels }) => ({ cancels: cancels + 1 }),
      ({ id }, own) => own.flatMap((one) => (one.path.endsWith(`${id}/cancel`) ? [one, one] : [one])),
    ),
  ),
  lie(
    'a provider without a cancel was asked for one',
    ['a provider is asked once to cancel'],
    'kling',
    journal('kling', 'kling', () => ({ cancels: 1 })),
  ),
];
