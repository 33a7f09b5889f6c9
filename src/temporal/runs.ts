import { isGrpcServiceError, WorkflowNotFoundError, type Client } from '@temporalio/client';

const RPC_MS = 3_000;
/** CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, INTERNAL, UNAVAILABLE: the server, not what it was asked for. */
const SERVER_CODES: ReadonlySet<number> = new Set([1, 4, 8, 13, 14]);

/**
 * Whether a generation's run is open; false = closed, terminated, or gone with its store or its retention.
 * @throws when Temporal cannot be asked within 3 s
 */
export async function isRunOpen(client: Client, generationId: string): Promise<boolean> {
  try {
    const { status } = await client.withDeadline(Date.now() + RPC_MS, () =>
      client.workflow.getHandle(generationId).describe(),
    );
    return status.name === 'RUNNING' || status.name === 'PAUSED';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** Whether an error tells of Temporal itself being away or overloaded, not of this one run. */
export function isTemporalUnavailable(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  const service = isGrpcServiceError(error) ? error : cause;
  return isGrpcServiceError(service) && SERVER_CODES.has(service.code);
}
