import type { ZodOpenApiResponseObject } from 'zod-openapi';

type Links = NonNullable<ZodOpenApiResponseObject['links']>;

/**
 * Where an answer leads to: for each operation the one path parameter that takes a value of the answer.
 * @param operations operation id → the name of its path parameter
 * @param value as a runtime expression of OpenAPI
 */
export function linksTo(operations: Readonly<Record<string, string>>, value = '$response.body#/id'): Links {
  return Object.fromEntries(
    Object.entries(operations).map(([operationId, parameter]) => [
      operationId,
      { operationId, parameters: { [parameter]: value } },
    ]),
  );
}

/** From a generation of the caller's own. */
export const GENERATION_LINKS: Links = linksTo({
  getGeneration: 'id',
  followGeneration: 'id',
  cancelGeneration: 'id',
  deleteGeneration: 'id',
  deleteOutputs: 'id',
  eraseInput: 'id',
});

/** From a video of the caller's own, which is a generation. */
export const VIDEO_LINKS: Links = linksTo({
  getVideo: 'id',
  downloadVideo: 'id',
  deleteVideo: 'id',
  getGeneration: 'id',
  cancelGeneration: 'id',
});

/** From any generation, for operators. */
export function operatedLinks(value: string): Links {
  return linksTo(
    {
      showGeneration: 'id',
      wakeGeneration: 'id',
      observeGeneration: 'id',
      cancelGenerationAsOperator: 'id',
      redeliverGeneration: 'id',
      refundGeneration: 'id',
      resolveGeneration: 'id',
      retryStoring: 'id',
      attachJob: 'id',
      declareNotAccepted: 'id',
    },
    value,
  );
}

/** From a webhook endpoint of the caller's own. */
export const ENDPOINT_LINKS: Links = linksTo({
  getWebhookEndpoint: 'endpoint',
  changeWebhookEndpoint: 'endpoint',
  deleteWebhookEndpoint: 'endpoint',
  rotateWebhookEndpointSecret: 'endpoint',
  testWebhookEndpoint: 'endpoint',
  redeliverSince: 'endpoint',
});
