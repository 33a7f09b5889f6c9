import { z } from 'zod';
import { parseKeyring } from './domain/keyring.ts';
import { parseAllow } from './net/allow.ts';
import { createStorage, parseScanCommand } from './storage/index.ts';

/** Runs a parser that throws with an explanation, as a zod transform. */
function parsedBy<T>(parse: (text: string) => T) {
  return (text: string, context: z.RefinementCtx): T => {
    try {
      return parse(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message });
      return z.NEVER;
    }
  };
}

function checkedStorageUrl(text: string): string {
  try {
    createStorage(text);
    return text;
  } catch (error) {
    throw new Error((error as Error).message.replace(/^STORAGE_URL /, ''), { cause: error });
  }
}

function urlWith(protocols: readonly string[], advice: string) {
  return z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
    error: advice,
    abort: true,
  });
}

const origin = urlWith(
  ['http:', 'https:'],
  'must be an http(s) URL, for example https://api.example.com',
).transform((text) => text.replace(/\/+$/, ''));

/** Each variable with its check. */
export const shared = {
  NODE_ENV: z.string().optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  DATABASE_URL: urlWith(
    ['postgres:', 'postgresql:'],
    'must be a PostgreSQL URL: postgresql://user:password@host:5432/database',
  ),
  /** Past any pooler, for LISTEN; without it DATABASE_URL. */
  DATABASE_DIRECT_URL: urlWith(
    ['postgres:', 'postgresql:'],
    'must be a PostgreSQL URL: postgresql://user:password@host:5432/database',
  ).optional(),
  KEYRING: z.string().transform(parsedBy(parseKeyring)),
  CATALOGUE_FILE: z.string().min(1, 'is empty: name a JSON file, or remove the variable').optional(),
  STORAGE_URL: z.string().default('file:.darkroom/outputs').transform(parsedBy(checkedStorageUrl)),
  SCAN_COMMAND: z.string().transform(parsedBy(parseScanCommand)).optional(),
  SCAN_URL: urlWith(['http:', 'https:'], 'must be an http(s) URL, for example http://127.0.0.1:9000/scan')
    .refine((text) => new URL(text).username === '', 'must have no user:password@, which is not sent')
    .optional(),
  SCAN_TIMEOUT_SECONDS: z
    .string()
    .regex(/^(?:[1-9]\d{0,2}|[1-2]\d{3}|3[0-5]\d{2}|3600)$/, 'must be whole seconds from 1 to 3600')
    .default('60')
    .transform(Number),
  PUBLIC_URL: origin.optional(),
  /** Where operators see runs; links in answers of the admin API and of the command line begin with it. */
  TEMPORAL_UI_URL: origin.optional(),
  /** Encrypts what Temporal stores; the form of KEYRING, current key first. */
  TEMPORAL_CODEC_KEYS: z.string().transform(parsedBy(parseKeyring)).optional(),
  /** OpenTelemetry's own variable: traces go there (OTLP over HTTP); without it none are made. */
  OTEL_EXPORTER_OTLP_ENDPOINT: origin.optional(),
  NET_ALLOW: z.string().default('').transform(parsedBy(parseAllow)),
};

const portNumber = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port number from 0 to 65535')
  .transform(Number)
  .refine((port) => port <= 65_535, 'must be a port number from 0 to 65535');
const listenOn = z
  .string()
  .min(1, 'is empty: name an address to listen on, or remove the variable')
  .default('127.0.0.1');

const deploymentName = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be 1 to 128 of A-Z a-z 0-9 _ and -');

export const commonSchema = z.object(shared);
export const apiSchema = z.object({
  ...shared,
  PORT: portNumber.default(8080),
  HOST: listenOn,
  OUTPUT_LINKS: z.enum(['proxy', 'presigned']).default('proxy'),
});
export const workerSchema = z.object({
  ...shared,
  METRICS_PORT: portNumber.optional(),
  HOST: listenOn,
  /** Temporal's worker versioning: name of the deployment and this build's id, together or not at all. */
  WORKER_DEPLOYMENT: deploymentName.optional(),
  WORKER_BUILD_ID: deploymentName.optional(),
  WORKFLOW_BUNDLE: z.string().min(1, 'is empty: name a file, or remove the variable').optional(),
});
