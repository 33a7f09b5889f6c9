import { apiMetrics } from '../../metrics/index.ts';
import type { OpenRoute } from '../route.ts';

export const metricsRoute: OpenRoute = {
  method: 'get',
  path: '/metrics',
  auth: 'none',
  problems: [],
  describe: () => ({
    operationId: 'metrics',
    summary: 'What this process has counted',
    description:
      'For Prometheus: callbacks by answer and by reason of failure, the last good one of each provider, outbound failures, and from the ' +
      'database jobs waited for, open circuits and budgets reached. No tenant, id or URL is in it; the worker has its own on METRICS_PORT.',
    tags: ['Service'],
    responses: {
      '200': { description: 'Text format 0.0.4.', content: { 'text/plain': { schema: { type: 'string' } } } },
    },
  }),
  handle: ({ db, providers }) => {
    const { contentType, render } = apiMetrics(db, [...providers.keys()]);
    return async () => ({ status: 200, contentType, body: await render() });
  },
};
