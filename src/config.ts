import { loadClientConnectConfig } from '@temporalio/envconfig';
import { z } from 'zod';
import { apiSchema, shared, workerSchema, type commonSchema } from './config-schema.ts';
import type { Catalogue } from './domain/catalogue.ts';
import type { Keyring } from './domain/keyring.ts';
import { assertProductionSafe, parseAllow, type AllowEntry } from './net/allow.ts';
import { readProviders, variablePrefix, type ProviderConfig } from './providers/configuration.ts';
import { PROVIDERS } from './providers/index.ts';
import { loadCatalogue } from './services/load-catalogue.ts';
import { catalogueCheck } from './services/rehearse-routes.ts';
import type { ScanConfig } from './storage/index.ts';

/** How long outputs and inputs are kept where a tenant has no other time. */
export const RETENTION_MS = 30 * 86_400_000;

type Environment = Readonly<Record<string, string | undefined>>;

/** What both processes need. */
interface CommonConfig {
  readonly production: boolean;
  readonly logLevel: string;
  readonly databaseUrl: string;
  /** For LISTEN, which a pooler in transaction mode forgets. */
  readonly databaseDirectUrl: string;
  readonly keyring: Keyring;
  /** All models of the file; what can be offered follows from `providers` (services/offered-catalogue.ts). */
  readonly catalogue: Catalogue;
  readonly storageUrl: string;
  /** null = files are not scanned. */
  readonly scan: ScanConfig | null;
  /** Without a slash at its end; null = no provider can call us, everything is polled. */
  readonly publicUrl: string | null;
  readonly netAllow: readonly AllowEntry[];
  /** Without a slash at its end; null = answers link to no run. */
  readonly temporalUiUrl: string | null;
  /** null = what Temporal stores (ids and codes only) is not encrypted. */
  readonly codecKeys: Keyring | null;
  /** Where traces are sent; null = none are made. */
  readonly tracesUrl: string | null;
  /** Those that have an API key, by name. */
  readonly providers: ReadonlyMap<string, ProviderConfig>;
}

export interface WorkerConfig extends CommonConfig {
  /** Where its metrics are served; null = nowhere. */
  readonly metrics: { readonly host: string; readonly port: number } | null;
  /** The workflows as one file, made from this very version; null = bundled at the start. */
  readonly workflowBundle: string | null;
  /** Temporal's worker versioning; null = runs go to any worker. */
  readonly deployment: { readonly name: string; readonly buildId: string } | null;
}

export interface ApiConfig extends CommonConfig {
  /** Whether links to files are answered by us, or by a redirect to the storage. */
  readonly outputLinks: 'proxy' | 'presigned';
  readonly port: number;
  readonly host: string;
}

/** Every bad variable at once, one a line, with what to do; a value is never part of the text. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`The configuration can't be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

const HINTS: Readonly<Record<string, string>> = {
  DATABASE_URL: 'write postgresql://user:password@host:5432/database',
  KEYRING: 'write id:base64 of 32 random bytes, for example k1:$(head -c 32 /dev/urandom | base64)',
};

function problemsOf(error: z.ZodError | undefined, env: Environment): string[] {
  return (error?.issues ?? []).map((issue) => {
    const name = String(issue.path[0]);
    if (env[name] === undefined) return `${name} is not set: ${HINTS[name] ?? issue.message}`;
    const values = issue.code === 'invalid_value' ? issue.values.map(String).join(', ') : null;
    return `${name} ${values === null ? issue.message : `must be one of ${values}`}`;
  });
}

/** Whether TEMPORAL_* can be read; the SDK's own messages quote the file, which may hold an API key. */
function temporalProblems(env: Environment): string[] {
  try {
    loadClientConnectConfig({ overrideEnvVars: { ...env } as Record<string, string> });
    return [];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === undefined
      ? ['TEMPORAL_CONFIG_FILE is not valid: it needs a table [profile.NAME] of the name in TEMPORAL_PROFILE']
      : [`TEMPORAL_CONFIG_FILE or a TEMPORAL_TLS_..._PATH names a file that can't be read (${code})`];
  }
}

/** Checks that span several variables; they run on whatever could be read, so that all problems show at once. */
function crossProblems(
  env: Environment,
  catalogue: Catalogue | null,
  providers: ReadonlyMap<string, ProviderConfig>,
): string[] {
  const routes = catalogue?.models.flatMap((model) => model.routes) ?? [];
  const problems = [...providers]
    .filter(
      ([, { webhookSecret, webhookSecrets }]) => webhookSecret === 'required' && webhookSecrets.length === 0,
    )
    .filter(([name]) => routes.some(({ provider, callbacks }) => provider === name && callbacks))
    .map(
      ([name]) =>
        `${variablePrefix(name)}WEBHOOK_SECRET is not set, so no callback of ${name} could be verified: ` +
        `set it, or set "callbacks": false on every ${name} route in CATALOGUE_FILE`,
    );
  if (env['SCAN_COMMAND'] !== undefined && env['SCAN_URL'] !== undefined)
    problems.push('SCAN_URL and SCAN_COMMAND are both set: remove one');
  if ((env['WORKER_DEPLOYMENT'] === undefined) !== (env['WORKER_BUILD_ID'] === undefined))
    problems.push('WORKER_DEPLOYMENT and WORKER_BUILD_ID belong together: set both, or remove both');
  if (env['OUTPUT_LINKS'] === 'presigned' && !/^s3:/i.test(env['STORAGE_URL'] ?? ''))
    problems.push(
      'OUTPUT_LINKS is presigned, which needs a STORAGE_URL that begins with s3:; or set it to proxy',
    );
  if (env['NODE_ENV'] !== 'production') return problems;
  try {
    assertProductionSafe(parseAllow(env['NET_ALLOW'] ?? ''));
  } catch (error) {
    problems.push((error as Error).message);
  }
  return problems;
}

function scanOf(values: z.infer<typeof commonSchema>): ScanConfig | null {
  const timeoutMs = values.SCAN_TIMEOUT_SECONDS * 1000;
  if (values.SCAN_COMMAND !== undefined) return { kind: 'command', command: values.SCAN_COMMAND, timeoutMs };
  return values.SCAN_URL === undefined ? null : { kind: 'url', url: values.SCAN_URL, timeoutMs };
}

function load<T extends z.infer<typeof commonSchema>>(
  schema: z.ZodType<T>,
  env: Environment,
): { values: T; common: CommonConfig } {
  const parsed = schema.safeParse(env);
  const { providers, problems: providerProblems } = readProviders(env, PROVIDERS);
  const check = providerProblems.length === 0 ? catalogueCheck(providers) : undefined;
  const loaded = loadCatalogue(env['CATALOGUE_FILE'] || undefined, check);
  const catalogue = 'catalogue' in loaded ? loaded.catalogue : null;
  const problems = [
    ...problemsOf(parsed.error, env),
    ...providerProblems,
    ...('problems' in loaded ? loaded.problems.map((problem) => `CATALOGUE_FILE ${problem}`) : []),
    ...crossProblems(env, catalogue, providers),
    ...temporalProblems(env),
  ];
  if (!parsed.success || catalogue === null || problems.length > 0)
    throw new ConfigError([...new Set(problems)]);
  const values = parsed.data;
  const common: CommonConfig = {
    production: values.NODE_ENV === 'production',
    logLevel: values.LOG_LEVEL,
    databaseUrl: values.DATABASE_URL,
    databaseDirectUrl: values.DATABASE_DIRECT_URL ?? values.DATABASE_URL,
    keyring: values.KEYRING,
    catalogue,
    storageUrl: values.STORAGE_URL,
    scan: scanOf(values),
    publicUrl: values.PUBLIC_URL ?? null,
    netAllow: values.NET_ALLOW,
    temporalUiUrl: values.TEMPORAL_UI_URL ?? null,
    codecKeys: values.TEMPORAL_CODEC_KEYS ?? null,
    tracesUrl: values.OTEL_EXPORTER_OTLP_ENDPOINT ?? null,
    providers,
  };
  return { values, common };
}

/** @throws ConfigError with every problem at once. TEMPORAL_* is read by @temporalio/envconfig. */
export function loadApiConfig(env: Environment): ApiConfig {
  const { values, common } = load(apiSchema, env);
  const { PORT: port, HOST: host, OUTPUT_LINKS: outputLinks } = values;
  return { ...common, port, host, outputLinks };
}

/** @throws ConfigError with every problem at once. TEMPORAL_* is read by @temporalio/envconfig. */
export function loadWorkerConfig(env: Environment): WorkerConfig {
  const { values, common } = load(workerSchema, env);
  const { METRICS_PORT: port, HOST: host, WORKFLOW_BUNDLE: workflowBundle = null } = values;
  const { WORKER_DEPLOYMENT: name, WORKER_BUILD_ID: buildId } = values;
  const deployment = name === undefined || buildId === undefined ? null : { name, buildId };
  return { ...common, metrics: port === undefined ? null : { host, port }, workflowBundle, deployment };
}

/** What the commands about providers need of the same variables. */
export interface ProviderToolConfig {
  readonly catalogue: Catalogue;
  readonly providers: ReadonlyMap<string, ProviderConfig>;
  readonly netAllow: readonly AllowEntry[];
}

/** @throws ConfigError with every problem at once. */
export function loadProviderConfig(env: Environment): ProviderToolConfig {
  const parsed = z.object({ NET_ALLOW: shared.NET_ALLOW }).safeParse(env);
  const loaded = loadCatalogue(env['CATALOGUE_FILE'] || undefined);
  const { providers, problems } = readProviders(env, PROVIDERS);
  const all = [
    ...problemsOf(parsed.error, env),
    ...problems,
    ...('problems' in loaded ? loaded.problems.map((problem) => `CATALOGUE_FILE ${problem}`) : []),
  ];
  if (!parsed.success || 'problems' in loaded || all.length > 0) throw new ConfigError(all);
  return { catalogue: loaded.catalogue, providers, netAllow: parsed.data.NET_ALLOW };
}

/** What the command line tools need of the same variables. */
export interface ToolConfig {
  readonly databaseUrl: string;
  readonly storageUrl: string;
  readonly temporalUiUrl: string | null;
  readonly codecKeys: Keyring | null;
}

/** @throws ConfigError with every problem at once. */
export function loadToolConfig(env: Environment): ToolConfig {
  const parsed = z
    .object({
      DATABASE_URL: shared.DATABASE_URL,
      STORAGE_URL: shared.STORAGE_URL,
      TEMPORAL_UI_URL: shared.TEMPORAL_UI_URL,
      TEMPORAL_CODEC_KEYS: shared.TEMPORAL_CODEC_KEYS,
    })
    .safeParse(env);
  if (!parsed.success) throw new ConfigError(problemsOf(parsed.error, env));
  return {
    databaseUrl: parsed.data.DATABASE_URL,
    storageUrl: parsed.data.STORAGE_URL,
    temporalUiUrl: parsed.data.TEMPORAL_UI_URL ?? null,
    codecKeys: parsed.data.TEMPORAL_CODEC_KEYS ?? null,
  };
}
