import type { Route } from '../route.ts';
import { receiveAccountCallbackRoute, receiveCallbackRoute } from './callbacks/receive.ts';
import { getAccountCreditsRoute, getCreditsRoute } from './credits/get.ts';
import { docsRoute, openApiRoute } from './documents.ts';
import { cancelGenerationRoute, deleteGenerationRoute } from './generations/cancel.ts';
import { createGenerationRoute } from './generations/create.ts';
import { getGenerationRoute } from './generations/get.ts';
import { listGenerationsRoute } from './generations/list.ts';
import { healthRoute, readinessRoute } from './health.ts';
import { listModelsRoute } from './models/list.ts';

/** Every route of the API; the router and the API document are both made from this list. */
export const ROUTES: readonly Route[] = [
  createGenerationRoute,
  listGenerationsRoute,
  getGenerationRoute,
  deleteGenerationRoute,
  cancelGenerationRoute,
  getCreditsRoute,
  getAccountCreditsRoute,
  listModelsRoute,
  receiveCallbackRoute,
  receiveAccountCallbackRoute,
  healthRoute,
  readinessRoute,
  openApiRoute,
  docsRoute,
];
