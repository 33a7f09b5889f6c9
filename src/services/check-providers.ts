import type { Catalogue, Model, Route } from '../domain/catalogue.ts';
import { canonicalJson } from '../domain/json.ts';
import type { Provider, ProviderCredential } from '../domain/provider.ts';
import { findUnservedRoutes } from './check-catalogue.ts';

/** A route that does not fit its provider, or a model list that could not be read. */
export interface ProviderMismatch {
  readonly model: string;
  readonly provider: string;
  readonly problem: string;
}

export interface CheckedProviders {
  readonly mismatches: readonly ProviderMismatch[];
  /** Routes that were looked at. */
  readonly routes: number;
  /** Providers whose own model list was compared. */
  readonly compared: readonly string[];
  /** Providers that have such a list and no API key here. */
  readonly notCompared: readonly string[];
}

export interface CheckProvidersInput {
  readonly catalogue: Catalogue;
  /** Every registered provider. */
  readonly providers: ReadonlyMap<string, Provider>;
  /** Of those that are configured, by the provider's name. */
  readonly credentials: ReadonlyMap<string, ProviderCredential>;
  /** Only routes of this provider; null = all. */
  readonly only: string | null;
  readonly timeoutMs: number;
}

interface Placed {
  readonly model: Model;
  readonly route: Route;
}

/** Compares the catalogue's routes with what the adapters take and with the providers' own model lists. */
export async function checkProviders(input: CheckProvidersInput): Promise<CheckedProviders> {
  const { providers, credentials, only } = input;
  const placed = input.catalogue.models.flatMap((model) =>
    model.routes
      .filter(({ provider }) => only === null || provider === only)
      .map((route): Placed => ({ model, route })),
  );
  const unserved = placed.flatMap(({ model, route }) =>
    findUnservedRoutes({ models: [{ ...model, routes: [route] }] }, providers).map(({ problem }) => ({
      model: model.id,
      provider: route.provider,
      problem,
    })),
  );
  const listing = placed.filter(({ route }) => providers.get(route.provider)?.listModels !== undefined);
  const withList = [...new Set(listing.map(({ route }) => route.provider))];
  const unlisted = await findUnlistedModels(
    listing.filter(({ route }) => credentials.has(route.provider)),
    input,
  );
  return {
    mismatches: [...unserved, ...unlisted],
    routes: placed.length,
    compared: withList.filter((name) => credentials.has(name)),
    notCompared: withList.filter((name) => !credentials.has(name)),
  };
}

/** One question at a time, and none twice, so that a check never looks like an attack. */
async function findUnlistedModels(
  placed: readonly Placed[],
  { providers, credentials, timeoutMs }: CheckProvidersInput,
): Promise<ProviderMismatch[]> {
  const asked = new Map<string, ReturnType<NonNullable<Provider['listModels']>>>();
  const found: ProviderMismatch[] = [];
  for (const { model, route } of placed) {
    const provider = providers.get(route.provider);
    const credential = credentials.get(route.provider);
    if (provider?.listModels === undefined || credential === undefined) continue;
    const job = { method: model.method, params: route.params };
    const key = `${route.provider} ${canonicalJson(job)}`;
    const answer = asked.get(key) ?? provider.listModels(job, { credential, timeoutMs });
    asked.set(key, answer);
    const listed = await answer;
    const problem =
      listed.kind === 'unavailable'
        ? `the model list of ${route.provider} could not be read (${listed.reason}): try again`
        : listed.models.includes(route.providerModel)
          ? null
          : `"${route.providerModel}" is not in the model list of ${route.provider} for ${model.method}: correct providerModel`;
    if (problem !== null) found.push({ model: model.id, provider: route.provider, problem });
  }
  return found;
}
