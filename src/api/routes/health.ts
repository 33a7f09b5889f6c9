import { z } from 'zod';
import { Problem } from '../problems.ts';
import { json, type OpenRoute } from '../route.ts';

export const healthRoute: OpenRoute = {
  method: 'get',
  path: '/healthz',
  auth: 'none',
  problems: [],
  describe: () => ({
    operationId: 'health',
    summary: 'Is the process alive',
    tags: ['Service'],
    responses: {
      '200': {
        description: 'Alive.',
        content: {
          'application/json': {
            schema: z.object({ status: z.literal('ok').meta({ description: 'Always `ok`.' }) }),
          },
        },
      },
    },
  }),
  handle: () => async () => json(200, { status: 'ok' }),
};

export const readinessRoute: OpenRoute = {
  method: 'get',
  path: '/readyz',
  auth: 'none',
  problems: ['not_ready'],
  describe: () => ({
    operationId: 'readiness',
    summary: 'Can it take work',
    description:
      'Checks what it needs; a 503 names what is missing. While Temporal or the workers are away it still takes ' +
      'generations and callbacks: 200 with status degraded. Fails first when the process is asked to stop.',
    tags: ['Service'],
    responses: {
      '200': {
        description: 'It serves; degraded names what is missing in `advice`.',
        content: {
          'application/json': {
            schema: z.object({
              status: z
                .enum(['ready', 'degraded'])
                .meta({ description: '`degraded` = something is missing.' }),
              checks: z
                .record(z.string(), z.enum(['ok', 'missing']))
                .meta({ description: 'What was checked.' }),
              advice: z.array(z.string()).meta({ description: 'What to do about what is missing.' }),
            }),
          },
        },
      },
    },
  }),
  handle: (ctx) => async () => {
    if (ctx.draining.aborted) {
      throw new Problem('not_ready', 'This process is stopping: send requests to another one.', {
        headers: { 'Retry-After': '1' },
      });
    }
    const { ready, checks } = await ctx.readiness();
    if (!ready) {
      const errors = checks
        .filter((check) => !check.ok && check.required)
        .map((check) => ({ path: `/${check.name}`, message: check.advice }));
      throw new Problem('not_ready', `Missing: ${errors.map((error) => error.path.slice(1)).join(', ')}.`, {
        errors,
        headers: { 'Retry-After': '5' },
      });
    }
    return json(200, {
      status: checks.every(({ ok }) => ok) ? 'ready' : 'degraded',
      checks: Object.fromEntries(checks.map(({ name, ok }) => [name, ok ? 'ok' : 'missing'])),
      advice: checks.filter(({ ok }) => !ok).map(({ advice }) => advice),
    });
  },
};
