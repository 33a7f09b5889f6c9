import type { Route } from '../route.ts';
import { listBudgetsRoute, setBudgetRoute } from './admin/budgets.ts';
import { listLimitsRoute, setLimitRoute } from './admin/limits.ts';
import { refundGenerationRoute } from './admin/refunds.ts';
import { resolveGenerationRoute } from './admin/resolution.ts';
import { receiveAccountCallbackRoute, receiveCallbackRoute } from './callbacks/receive.ts';
import { listAccountEntriesRoute, listEntriesRoute } from './credits/entries.ts';
import { getAccountCreditsRoute, getCreditsRoute } from './credits/get.ts';
import { createAccountGrantRoute, createGrantRoute } from './credits/grants.ts';
import { docsRoute, openApiRoute } from './documents.ts';
import { cancelGenerationRoute, deleteGenerationRoute } from './generations/cancel.ts';
import { createGenerationRoute } from './generations/create.ts';
import { getGenerationRoute } from './generations/get.ts';
import { listGenerationsRoute } from './generations/list.ts';
import { healthRoute, readinessRoute } from './health.ts';
import { metricsRoute } from './metrics.ts';
import { listModelsRoute } from './models/list.ts';
import { createQuoteRoute } from './quotes/create.ts';

/** Every route of the API; the router and the API document are both made from this list. */
export const ROUTES: readonly Route[] = [
  createGenerationRoute,
  listGenerationsRoute,
  getGenerationRoute,
  deleteGenerationRoute,
  cancelGenerationRoute,
  listModelsRoute,
  createQuoteRoute,
  getCreditsRoute,
  getAccountCreditsRoute,
  listEntriesRoute,
  listAccountEntriesRoute,
  createGrantRoute,
  createAccountGrantRoute,
  refundGenerationRoute,
  resolveGenerationRoute,
  listLimitsRoute,
  setLimitRoute,
  listBudgetsRoute,
  setBudgetRoute,
  receiveCallbackRoute,
  receiveAccountCallbackRoute,
  healthRoute,
  readinessRoute,
  metricsRoute,
  openApiRoute,
  docsRoute,
];
