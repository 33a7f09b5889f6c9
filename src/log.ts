import { pino } from 'pino';
import type { DestinationStream } from 'pino';
import { allowedFields, type LogFields } from './domain/log-fields.ts';
import { traceIdOf } from './domain/trace-id.ts';

type Write = {
  (fields: LogFields, message: string): void;
  (message: string): void;
};

/** JSON lines whose fields are those of log-fields.ts; a message is a fixed text. */
export interface Log {
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}

/**
 * Only known fields with values of their shape are written; `dropped` names the others, and `onDropped` is told how many
 * there were. A line about a generation has the generation's trace id.
 */
export function createLogger(
  level: string,
  service: string,
  { destination, onDropped }: LogOptions = {},
): Log {
  const options = {
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: {
      log(line: Readonly<Record<string, unknown>>) {
        const { fields, dropped } = allowedFields(line);
        if (dropped.length > 0) onDropped?.(dropped.length);
        const id = fields['generation'] ?? fields['submission'];
        const traceId = typeof id === 'string' ? traceIdOf(id) : null;
        return {
          ...fields,
          ...(traceId === null ? {} : { trace_id: traceId }),
          ...(dropped.length === 0 ? {} : { dropped }),
        };
      },
    },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

interface LogOptions {
  /** Default: standard output. */
  readonly destination?: DestinationStream;
  readonly onDropped?: (fields: number) => void;
}
