import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { parse } from 'yaml';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const read = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8');

type Condition = 'service_started' | 'service_healthy' | 'service_completed_successfully';

/** A service of docker-compose.yml, as far as the tests read it; variables not yet replaced. */
export interface Service {
  readonly image: string;
  readonly build?: string | { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly env_file?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: Condition }>>;
  readonly healthcheck?: {
    readonly disable?: boolean;
    readonly test?: readonly string[];
    readonly interval?: string;
    readonly timeout?: string;
    readonly retries?: number;
    readonly start_period?: string;
  };
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly restart?: string;
  readonly stop_grace_period?: string;
  readonly deploy?: { readonly resources: { readonly limits: { readonly memory: string } } };
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, unknown>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** docker-compose.yml with its anchors and merges resolved. */
export function readCompose(): ComposeFile {
  return parse(read('docker-compose.yml'), { merge: true }) as ComposeFile;
}

/** `.env.example` as an operator fills it in: `values` take the place of empty and of commented lines. */
export function filledEnv(values: Readonly<Record<string, string>>): Record<string, string> {
  return { ...(parseEnv(read('.env.example')) as Record<string, string>), ...values };
}

const VARIABLE = /\$\{([A-Z][A-Z0-9_]*)(?:(:[?-])([^}]*))?\}/g;

/** The variables that a text asks for. */
export function variablesIn(text: string): string[] {
  return [...text.matchAll(VARIABLE)].map(([, name]) => name ?? '');
}

/** Replaces `${NAME}`, `${NAME:-default}` and `${NAME:?problem}` as compose does. @throws Error for an empty required one */
export function interpolate(text: string, env: Readonly<Record<string, string>>): string {
  return text.replaceAll(
    VARIABLE,
    (_all, name: string, operator: string | undefined, rest: string | undefined) => {
      const value = env[name] ?? '';
      if (value !== '' || operator === undefined) return value;
      if (operator === ':-') return rest ?? '';
      throw new Error(`required variable ${name} is missing a value: ${rest}`);
    },
  );
}

/** `ENV` of the image's last stage. */
export function imageEnvironment(): Record<string, string> {
  const last =
    read('Dockerfile')
      .split(/^FROM /m)
      .at(-1) ?? '';
  const words = [...last.matchAll(/^ENV (.*)$/gm)].flatMap(([, line]) => (line ?? '').split(' '));
  return Object.fromEntries(words.map((word) => word.split(/=(.*)/s).slice(0, 2) as [string, string]));
}

/** What a container of our image sees: the image's variables, those of .env, then the service's own. */
export function environmentOf(
  service: Service,
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  const own = Object.entries(service.environment ?? {}).map(([name, value]) => [
    name,
    interpolate(value, env),
  ]);
  return { ...imageEnvironment(), ...(service.env_file === '.env' ? env : {}), ...Object.fromEntries(own) };
}

/** `1m30s`, `40s` or `500ms` in milliseconds. */
export function durationMs(text: string): number {
  const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;
  return [...text.matchAll(/(\d+)(ms|[smh])/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * UNITS[unit as keyof typeof UNITS],
    0,
  );
}

/** How long a service may take to become healthy before compose gives it up. */
export function healthLimitMs({ healthcheck }: Service): number {
  const { interval = '30s', timeout = '30s', retries = 3, start_period: start = '0s' } = healthcheck ?? {};
  return durationMs(start) + retries * (durationMs(interval) + durationMs(timeout));
}
