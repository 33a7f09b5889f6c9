import type { ProviderCredential } from '../domain/provider.ts';
import type { ProviderDefinition, WebhookSecretUse } from './definition.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** One provider as the environment states it. */
export interface ProviderConfig {
  readonly baseUrl: string;
  /** By name; a submission keeps the one that it was sent with. */
  readonly credentials: ReadonlyMap<string, ProviderCredential>;
  /** The one that new submissions use. */
  readonly current: ProviderCredential;
  /** Whether its callbacks can be verified without secrets. */
  readonly webhookSecret: WebhookSecretUse;
  /** Any of them verifies; empty = signed callbacks of this provider are refused. */
  readonly webhookSecrets: readonly string[];
  /** New submits a second over all workers, before the provider says that it is too many. */
  readonly submitsPerSecond: number;
  /** Its own settings, as texts that its definition has found right. */
  readonly settings: Readonly<Record<string, string>>;
}

interface Found<T> {
  readonly value: T;
  readonly problems: readonly string[];
}

const DEFAULT_CREDENTIAL = 'default';
const DEFAULT_SUBMITS_PER_SECOND = '10';

/** The start of every variable of one provider. */
export function variablePrefix(provider: string): string {
  return `PROVIDER_${provider.toUpperCase().replaceAll('-', '_')}_`;
}

function readBaseUrl(env: Environment, prefix: string, publicUrl: string): Found<string> {
  const name = `${prefix}BASE_URL`;
  const text = env[name] ?? publicUrl;
  const isHttp = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
  return {
    value: text.replace(/\/+$/, ''),
    problems: isHttp ? [] : [`${name} must be an http(s) URL, for example ${publicUrl}`],
  };
}

/** A key without an address, for a provider that is whatever stands at the address. */
function missingBaseUrl(
  env: Environment,
  prefix: string,
  { needsBaseUrl }: ProviderDefinition,
  keys: ReadonlyMap<string, ProviderCredential>,
): readonly string[] {
  if (!needsBaseUrl || keys.size === 0 || env[`${prefix}BASE_URL`] !== undefined) return [];
  return [
    `${prefix}BASE_URL is not set: set it to the address of the API that the key is for, for example https://api.example.com`,
  ];
}

/** PROVIDER_<NAME>_API_KEY is `default`, PROVIDER_<NAME>_API_KEY_EU is `eu`. */
function readKeys(env: Environment, prefix: string): Found<ReadonlyMap<string, ProviderCredential>> {
  const value = new Map<string, ProviderCredential>();
  const problems: string[] = [];
  for (const [variable, apiKey] of Object.entries(env)) {
    if (apiKey === undefined || !variable.startsWith(`${prefix}API_KEY`)) continue;
    const end = variable.slice(`${prefix}API_KEY`.length);
    const name = end === '' ? DEFAULT_CREDENTIAL : end.slice(1).toLowerCase();
    if (end !== '' && !/^_[A-Z0-9_]{1,32}$/.test(end)) {
      problems.push(`${variable} ends in no credential name: write ${prefix}API_KEY_<LETTERS, DIGITS, _>`);
    } else if (apiKey.trim() === '') {
      problems.push(`${variable} is empty: set the key of your account there, or remove the variable`);
    } else if (!/^[\x21-\x7e]{1,4096}$/.test(apiKey)) {
      problems.push(`${variable} must be visible ASCII without spaces: copy the key again`);
    } else if (value.has(name)) {
      problems.push(`${variable} names the credential "${name}" a second time: remove one of the two`);
    } else value.set(name, { name, apiKey });
  }
  return { value, problems };
}

/** Which key new submissions use: PROVIDER_<NAME>_CREDENTIAL, else `default`. */
function readCurrent(
  env: Environment,
  prefix: string,
  keys: ReadonlyMap<string, ProviderCredential>,
): Found<ProviderCredential | undefined> {
  const variable = `${prefix}CREDENTIAL`;
  const wanted = env[variable];
  const value = keys.get((wanted ?? DEFAULT_CREDENTIAL).toLowerCase());
  if (value !== undefined) return { value, problems: [] };
  const advice =
    keys.size === 0
      ? `set ${prefix}API_KEY, or remove the variable`
      : `name one that has a key: ${[...keys.keys()].join(', ')}`;
  if (wanted !== undefined)
    return { value, problems: [`${variable} names no credential with a key: ${advice}`] };
  return { value, problems: keys.size === 0 ? [] : [`${variable} is not set: ${advice}`] };
}

function readSecrets(env: Environment, prefix: string): Found<readonly string[]> {
  const name = `${prefix}WEBHOOK_SECRET`;
  const text = env[name];
  const value = text === undefined ? [] : text.split(',').map((entry) => entry.trim());
  const problems = value.includes('')
    ? [`${name} has an empty secret: set the secret(s) that the provider shows, separated by commas`]
    : [];
  return { value, problems };
}

function readSubmitRate(env: Environment, prefix: string): Found<number> {
  const name = `${prefix}SUBMITS_PER_SECOND`;
  const text = env[name] ?? DEFAULT_SUBMITS_PER_SECOND;
  const fits = /^[1-9]\d{0,3}$/.test(text);
  return { value: Number(text), problems: fits ? [] : [`${name} must be a whole number from 1 to 9999`] };
}

/** A name that this provider does not know is a mistake that would else be silent. */
function unknownVariables(env: Environment, prefix: string, known: readonly string[]): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith(prefix) && env[name] !== undefined)
    .filter((name) => !name.startsWith(`${prefix}API_KEY`) && !known.includes(name.slice(prefix.length)))
    .map((name) => `${name} is not known: correct the name, or remove it; known are ${known.join(', ')}`);
}

function readProvider(env: Environment, definition: ProviderDefinition): Found<ProviderConfig | undefined> {
  const prefix = variablePrefix(definition.name);
  const known = ['BASE_URL', 'CREDENTIAL', 'WEBHOOK_SECRET', 'SUBMITS_PER_SECOND', ...definition.settings];
  const baseUrl = readBaseUrl(env, prefix, definition.baseUrl);
  const keys = readKeys(env, prefix);
  const current = readCurrent(env, prefix, keys.value);
  const secrets = readSecrets(env, prefix);
  const submitRate = readSubmitRate(env, prefix);
  const settings = Object.fromEntries(
    definition.settings.flatMap((setting) => {
      const text = env[`${prefix}${setting}`];
      return text === undefined ? [] : [[setting, text] as const];
    }),
  );
  const own = definition.configure(settings);
  const ownProblems = 'problems' in own ? own.problems : [];
  const problems = [
    ...baseUrl.problems,
    ...missingBaseUrl(env, prefix, definition, keys.value),
    ...keys.problems,
    ...current.problems,
    ...secrets.problems,
    ...submitRate.problems,
    ...ownProblems.map(({ setting, problem }) => `${prefix}${setting} ${problem}`),
    ...unknownVariables(env, prefix, ['API_KEY', ...known]),
  ];
  if (current.value === undefined || 'problems' in own) return { value: undefined, problems };
  const value = {
    baseUrl: baseUrl.value,
    credentials: keys.value,
    current: current.value,
    webhookSecret: own.configured.webhookSecret,
    webhookSecrets: secrets.value,
    submitsPerSecond: submitRate.value,
    settings,
  };
  return { value, problems };
}

/**
 * The providers that have an API key, by name, and every problem of any variable of any provider (without its value).
 * Variables per provider: PROVIDER_<NAME>_API_KEY[_<CREDENTIAL>], _CREDENTIAL, _BASE_URL, _WEBHOOK_SECRET,
 * _SUBMITS_PER_SECOND, own settings.
 */
export function readProviders(
  env: Environment,
  definitions: readonly ProviderDefinition[],
): { readonly providers: ReadonlyMap<string, ProviderConfig>; readonly problems: readonly string[] } {
  const found = definitions.map((definition) => ({ definition, ...readProvider(env, definition) }));
  return {
    providers: new Map(
      found.flatMap(({ definition, value }) =>
        value === undefined ? [] : [[definition.name, value] as const],
      ),
    ),
    problems: [...found.flatMap(({ problems }) => problems), ...misspelt(env, definitions)],
  };
}

/** A key for a provider that there is not would else be silent: PROVIDER_INFROO_API_KEY. */
function misspelt(env: Environment, definitions: readonly ProviderDefinition[]): string[] {
  const prefixes = definitions.map(({ name }) => variablePrefix(name));
  const names = definitions.map(({ name }) => name).join(', ');
  return Object.keys(env)
    .filter((variable) =>
      /^PROVIDER_.+_(API_KEY|BASE_URL|WEBHOOK_SECRET|CREDENTIAL|SUBMITS_PER_SECOND)(_|$)/.test(variable),
    )
    .filter((variable) => !prefixes.some((prefix) => variable.startsWith(prefix)))
    .map((variable) => `${variable} names no provider: correct the name, or remove it; there are ${names}`);
}
