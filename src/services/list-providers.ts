import { listProviderBudgets, type Db, type ProviderBudget } from '../db/index.ts';
import { listPauses, type Pause } from '../db/pauses.ts';
import { readProviderStates, readSpentToday } from '../db/provider-states.ts';
import type { Provider, ProviderCapabilities } from '../domain/provider.ts';
import type { OutboundHttp } from '../net/types.ts';
import type { ProviderConfig } from '../providers/configuration.ts';
import { createProviders, PROVIDERS } from '../providers/index.ts';

/** What one adapter can do, as its code says. */
export interface DescribedProvider extends ProviderCapabilities {
  readonly name: string;
  /** It finds a job by our key or external id. */
  readonly find: boolean;
  /** It has a list of its models. */
  readonly models: boolean;
  /** The methods with the input fields that each can take. */
  readonly methods: Provider['methods'];
}

/** How a provider is set up here; never a key or a secret. */
export interface ProviderSetup {
  readonly configured: boolean;
  /** Names of credentials that have a key. */
  readonly credentials: readonly string[];
  /** The one that new submissions use. */
  readonly credential: string | null;
  readonly webhookSecret: 'set' | 'missing' | 'not_needed' | null;
}

/** What the database knows of a provider now. */
export interface ProviderToday {
  /** `half_open`: it was open, and nothing has succeeded there since. */
  readonly circuit: 'closed' | 'open' | 'half_open';
  readonly circuitOpenUntil: Date | null;
  readonly jobsWaiting: number;
  /** What is booked for submits of the UTC day, by unit; decimal texts. */
  readonly spentToday: readonly { readonly amount: string; readonly unit: string }[];
  readonly budget: ProviderBudget | null;
  /** A person has stopped new submits there. */
  readonly paused: Pause | null;
}

export interface ListedProvider extends DescribedProvider, ProviderSetup {
  /** null = the database could not be read. */
  readonly today: ProviderToday | null;
}

/** Adapters of every provider there is: with the settings given, else with its defaults. */
export function everyProvider(
  http: OutboundHttp,
  settings: ReadonlyMap<string, Partial<Pick<ProviderConfig, 'baseUrl' | 'settings'>>> = new Map(),
): ReadonlyMap<string, Provider> {
  const providers = new Map(PROVIDERS.map(({ name }) => [name, settings.get(name) ?? {}]));
  return createProviders({ http, providers });
}

/** What an adapter can do. */
export function describeProvider(provider: Provider): DescribedProvider {
  return {
    name: provider.name,
    ...provider.capabilities,
    find: provider.find !== undefined,
    models: provider.listModels !== undefined,
    methods: provider.methods,
  };
}

/**
 * Every registered provider in the order of the registry: what it can do, how it is set up here, and how it stands now.
 * @param ctx `db` null = without a database @throws what the database throws
 */
export async function listProviders(ctx: {
  readonly db: Db | null;
  readonly http: OutboundHttp;
  readonly configured: ReadonlyMap<string, ProviderConfig>;
}): Promise<ListedProvider[]> {
  const adapters = everyProvider(ctx.http, ctx.configured);
  const today = ctx.db === null ? null : await readToday(ctx.db, [...adapters.keys()]);
  return [...adapters].map(([name, provider]) => ({
    ...describeProvider(provider),
    ...setupOf(ctx.configured.get(name)),
    today: today?.(name) ?? null,
  }));
}

function setupOf(config: ProviderConfig | undefined): ProviderSetup {
  if (config === undefined) {
    return { configured: false, credentials: [], credential: null, webhookSecret: null };
  }
  const { webhookSecret, webhookSecrets } = config;
  return {
    configured: true,
    credentials: [...config.credentials.keys()],
    credential: config.current.name,
    webhookSecret: webhookSecret === 'none' ? 'not_needed' : webhookSecrets.length > 0 ? 'set' : 'missing',
  };
}

async function readToday(db: Db, names: readonly string[]): Promise<(name: string) => ProviderToday> {
  const [states, spent, budgets, pauses] = await Promise.all([
    readProviderStates(db),
    readSpentToday(db, names),
    listProviderBudgets(db),
    listPauses(db),
  ]);
  return (name) => {
    const state = states.find(({ provider }) => provider === name);
    const { circuitOpenUntil = null, circuitTripped = false } = state ?? {};
    return {
      circuit: circuitOpenUntil !== null ? 'open' : circuitTripped ? 'half_open' : 'closed',
      circuitOpenUntil,
      jobsWaiting: (state?.waitingForCallback ?? 0) + (state?.waitingForPoll ?? 0),
      spentToday: spent
        .filter(({ provider }) => provider === name)
        .map(({ amount, unit }) => ({ amount, unit })),
      budget: budgets.find(({ provider }) => provider === name) ?? null,
      paused: pauses.find(({ kind, target }) => kind === 'provider' && target === name) ?? null,
    };
  };
}
