import { Counter, Registry } from 'prom-client';

/** What this process's log has left out. */
export const logMetrics = new Registry();

const dropped = new Counter({
  name: 'darkroom_log_fields_dropped_total',
  help: 'Fields of log lines that were left out, unknown or not of their shape; more than 0 is a defect ("dropped" in the line names them).',
  registers: [logMetrics],
});

export function countDroppedFields(fields: number): void {
  dropped.inc(fields);
}
