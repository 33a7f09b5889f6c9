import { z } from 'zod';
import {
  SWEEP_COUNT_NAMES,
  SWEEP_COUNTS,
  SWEEP_PASSES,
  SWEEP_PROBLEMS,
  type SweepCount,
} from '../../../domain/sweep.ts';
import { sweepNow, type SweepReport } from '../../../services/sweep-now.ts';
import { json, type OperatorRoute } from '../../route.ts';

const count = (name: SweepCount) => z.int().min(0).meta({ description: SWEEP_COUNTS[name] });
const pass = z.enum(SWEEP_PASSES);

const sweepSchema = z
  .object({
    object: z.literal('sweep').meta({ description: 'Always `sweep`.' }),
    counts: z
      .object(
        Object.fromEntries(SWEEP_COUNT_NAMES.map((name) => [name, count(name)])) as Record<
          SweepCount,
          z.ZodInt
        >,
      )
      .meta({ description: 'What one pass of each brought.' }),
    failed: z
      .array(
        z.object({
          pass: pass.meta({ description: 'Which pass.' }),
          problem: z.enum(SWEEP_PROBLEMS).meta({ description: 'What it could not do, or found amiss.' }),
          times: z.int().min(1).meta({ description: 'How often.' }),
          keys: z
            .array(z.string())
            .meta({ description: 'Ids, providers or labels of invariants; at most ten.' }),
        }),
      )
      .meta({ description: 'Empty when all went well; what is here is tried again by itself.' }),
    left_to_workers: z
      .array(pass)
      .meta({ description: 'Passes that need providers, when this process has none.' }),
  })
  .meta({ id: 'Sweep' });

/** One pass of everything that the sweep does, now. */
export const sweepRoute: OperatorRoute = {
  method: 'post',
  path: '/admin/v1/sweep',
  auth: 'operator',
  problems: [],
  describe: () => ({
    operationId: 'sweepNow',
    summary: 'Sweep now',
    description:
      'Makes one bounded pass of each kind at once, which otherwise come by themselves: what is overdue, callbacks that nobody read, runs ' +
      'that Temporal lost, jobs in the lists of providers, looks at jobs after the end, files and rows whose time is over, and the ' +
      'invariants of what changed. Safe to repeat; one takes a minute at most.',
    tags: ['Operators'],
    responses: {
      '200': {
        description: 'What was found and done, also when a pass failed.',
        content: { 'application/json': { schema: sweepSchema } },
      },
    },
  }),
  handle: (ctx) => {
    // One at a time: it asks every provider for its list. Who calls meanwhile is told of the one under way.
    let underWay: Promise<SweepReport> | undefined;
    return async () => {
      underWay ??= sweepNow(ctx.sweep).finally(() => {
        underWay = undefined;
      });
      const { counts, failed, leftToWorkers } = await underWay;
      return json(200, { object: 'sweep', counts, failed, left_to_workers: leftToWorkers });
    };
  },
};
