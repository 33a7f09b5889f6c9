import { DefaultLogger } from '@temporalio/worker';
import type { Log } from '../log.ts';

/** Said at every start for queues that have only activities, on purpose. */
const EXPECTED = /^No (workflows|Nexus services) registered/;
const LEVELS = { TRACE: 'debug', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

/** The SDK's log lines in our own log; below warnings it tells of every state change, which nobody asked for. */
export function temporalLogger(log: Log): DefaultLogger {
  return new DefaultLogger('WARN', ({ level, message, meta }) => {
    if (!EXPECTED.test(message))
      log[LEVELS[level]]({ queue: meta?.['taskQueue'], generation: meta?.['workflowId'] }, message);
  });
}
