import type { Route } from '../route.ts';
import {
  cancelByOperatorRoute,
  observeGenerationRoute,
  redeliverGenerationRoute,
  wakeGenerationRoute,
} from './admin/actions-run.ts';
import { retryStoringRoute } from './admin/actions-storing.ts';
import { attachJobRoute, notAcceptedRoute } from './admin/actions-submission.ts';
import { listBudgetsRoute, setBudgetRoute } from './admin/budgets.ts';
import { listCallbacksRoute } from './admin/callbacks.ts';
import {
  listOperatedDeliveriesRoute,
  redeliverOperatedRoute,
  showOperatedDeliveryRoute,
} from './admin/deliveries.ts';
import { findGenerationsRoute } from './admin/find-generations.ts';
import { createKeyRoute, listKeysRoute, revokeKeyRoute } from './admin/keys.ts';
import { listLimitsRoute, setLimitRoute } from './admin/limits.ts';
import { listPausesRoute, pauseRoute, resumeRoute } from './admin/pauses.ts';
import { refundGenerationRoute } from './admin/refunds.ts';
import { resolveGenerationRoute } from './admin/resolution.ts';
import { showGenerationRoute } from './admin/show-generation.ts';
import { createTenantRoute, listTenantsRoute } from './admin/tenants.ts';
import { sweepRoute } from './admin/sweep.ts';
import { receiveAccountCallbackRoute, receiveCallbackRoute } from './callbacks/receive.ts';
import { listAccountEntriesRoute, listEntriesRoute } from './credits/entries.ts';
import { getAccountCreditsRoute, getCreditsRoute } from './credits/get.ts';
import { createAccountGrantRoute, createGrantRoute } from './credits/grants.ts';
import { docsRoute, openApiRoute } from './documents.ts';
import { inputFileRoute } from './files/inputs.ts';
import { outputFileRoute } from './files/outputs.ts';
import { cancelGenerationRoute, deleteGenerationRoute } from './generations/cancel.ts';
import { createGenerationRoute } from './generations/create.ts';
import { deleteOutputsRoute } from './generations/delete-outputs.ts';
import { eraseInputRoute } from './generations/erase.ts';
import { followGenerationRoute } from './generations/events.ts';
import { getGenerationRoute } from './generations/get.ts';
import { listGenerationsRoute } from './generations/list.ts';
import { getOutputRoute } from './generations/output.ts';
import { healthRoute, readinessRoute } from './health.ts';
import { metricsRoute } from './metrics.ts';
import { getInputRoute } from './inputs/get.ts';
import { uploadInputRoute } from './inputs/upload.ts';
import { listModelsRoute } from './models/list.ts';
import { createQuoteRoute } from './quotes/create.ts';
import { videoContentRoute } from './videos/content.ts';
import { createVideoRoute } from './videos/create.ts';
import { deleteVideoRoute } from './videos/delete.ts';
import { getVideoRoute } from './videos/get.ts';
import { listVideosRoute } from './videos/list.ts';
import { createWebhookEndpointRoute } from './webhooks/create-endpoint.ts';
import { rotateDefaultSecretRoute } from './webhooks/default-secret.ts';
import {
  getWebhookDeliveryRoute,
  listWebhookDeliveriesRoute,
  redeliverWebhookRoute,
} from './webhooks/deliveries.ts';
import {
  redeliverSinceRoute,
  rotateEndpointSecretRoute,
  testWebhookEndpointRoute,
} from './webhooks/endpoint-actions.ts';
import {
  changeWebhookEndpointRoute,
  deleteWebhookEndpointRoute,
  getWebhookEndpointRoute,
  listWebhookEndpointsRoute,
} from './webhooks/endpoints.ts';

/** Every route of the API; the router and the API document are both made from this list. */
export const ROUTES: readonly Route[] = [
  createGenerationRoute,
  listGenerationsRoute,
  getGenerationRoute,
  followGenerationRoute,
  deleteGenerationRoute,
  cancelGenerationRoute,
  getOutputRoute,
  deleteOutputsRoute,
  eraseInputRoute,
  createVideoRoute,
  listVideosRoute,
  getVideoRoute,
  deleteVideoRoute,
  videoContentRoute,
  outputFileRoute,
  inputFileRoute,
  uploadInputRoute,
  getInputRoute,
  listModelsRoute,
  createQuoteRoute,
  getCreditsRoute,
  getAccountCreditsRoute,
  listEntriesRoute,
  listAccountEntriesRoute,
  createGrantRoute,
  createAccountGrantRoute,
  createWebhookEndpointRoute,
  listWebhookEndpointsRoute,
  getWebhookEndpointRoute,
  changeWebhookEndpointRoute,
  deleteWebhookEndpointRoute,
  rotateEndpointSecretRoute,
  testWebhookEndpointRoute,
  redeliverSinceRoute,
  rotateDefaultSecretRoute,
  listWebhookDeliveriesRoute,
  getWebhookDeliveryRoute,
  redeliverWebhookRoute,
  findGenerationsRoute,
  showGenerationRoute,
  wakeGenerationRoute,
  observeGenerationRoute,
  retryStoringRoute,
  attachJobRoute,
  notAcceptedRoute,
  cancelByOperatorRoute,
  redeliverGenerationRoute,
  refundGenerationRoute,
  resolveGenerationRoute,
  sweepRoute,
  listPausesRoute,
  pauseRoute,
  resumeRoute,
  listCallbacksRoute,
  listOperatedDeliveriesRoute,
  showOperatedDeliveryRoute,
  redeliverOperatedRoute,
  listTenantsRoute,
  createTenantRoute,
  listKeysRoute,
  createKeyRoute,
  revokeKeyRoute,
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
