import type { Client } from '@temporalio/client';

/** The current details of a generation's last run, as the Temporal UI asks for them; empty when it has none yet. */
export async function detailsOf(client: Client, generationId: string): Promise<string> {
  const metadata = await client.workflow
    .getHandle(generationId)
    .query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  return metadata.currentDetails ?? '';
}
