import { randomUUID } from 'node:crypto';
import type { Db } from '../../src/db/index.ts';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { createTenant } from '../../src/services/create-tenant.ts';
import { grantCredits } from '../../src/services/grant-credits.ts';

const CREDITS = 100_000_000;

export interface BenchTenant {
  readonly id: string;
  readonly key: string;
}

/** A tenant with credits for all that the bench asks; with an endpoint at `receiverUrl` unless null. */
export async function openTenant(db: Db, apiUrl: string, receiverUrl: string | null): Promise<BenchTenant> {
  const { id } = await createTenant({ db }, { name: 'bench' });
  const { text: key } = await createApiKey(
    { db },
    { tenantId: id, scopes: ['generations', 'webhooks'], label: 'bench' },
  );
  await grantCredits(
    { db },
    {
      tenantId: id,
      account: 'default',
      credits: CREDITS,
      businessKey: `bench:${id}`,
      reason: 'bench',
      actor: 'bench',
    },
  );
  if (receiverUrl !== null) {
    const answer = await fetch(`${apiUrl}/v1/webhook-endpoints`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify({ url: receiverUrl }),
    });
    if (answer.status !== 201) throw new Error(`no endpoint: ${answer.status} ${await answer.text()}`);
  }
  return { id, key };
}
