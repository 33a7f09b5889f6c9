import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';

/** JSON lines; `redact` is a second net only, nothing secret is given to the log in the first place. */
export function createLogger(level: string, service: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: ['authorization', 'headers', 'body', 'token', '*.authorization', '*.token'],
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
