import type { Catalogue } from '../domain/catalogue.ts';

/** A catalogue without the routes that nothing is configured for, and what was left out. */
export interface OfferedCatalogue {
  readonly catalogue: Catalogue;
  /** Providers that routes name and that have no API key. */
  readonly missingProviders: readonly string[];
  /** Models that lost all their routes, so they are not offered. */
  readonly droppedModels: readonly string[];
}

/** What can be sold with these providers: routes to others are left out, and so is a model without any route left. */
export function offeredCatalogue(catalogue: Catalogue, configured: ReadonlySet<string>): OfferedCatalogue {
  const routes = catalogue.models.flatMap((model) => model.routes);
  const missing = routes.map(({ provider }) => provider).filter((provider) => !configured.has(provider));
  const models = catalogue.models.map((model) => ({
    ...model,
    routes: model.routes.filter(({ provider }) => configured.has(provider)),
  }));
  return {
    catalogue: { models: models.filter((model) => model.routes.length > 0) },
    missingProviders: [...new Set(missing)],
    droppedModels: models.filter((model) => model.routes.length === 0).map(({ id }) => id),
  };
}
