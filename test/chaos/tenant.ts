import { randomUUID } from 'node:crypto';
import { openDb } from '../../src/db/index.ts';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { createTenant } from '../../src/services/create-tenant.ts';
import { grantCredits } from '../../src/services/grant-credits.ts';
import { PRICE } from './catalogue.ts';
import type { ChaosStack } from './stack.ts';

/** Its accounts with credits for everything. */
export const RICH_ACCOUNTS = ['default', 'ann', 'ben', 'cho'] as const;
/** Has credits for a part of what is asked for in its name. */
export const POOR_ACCOUNT = 'poor';

export interface Tenant {
  readonly id: string;
  /** Two that may do the same, so that one can be revoked. */
  readonly keys: readonly [ApiKey, ApiKey];
}

interface ApiKey {
  readonly id: string;
  readonly text: string;
}

/** A tenant with keys, credits, an endpoint for all ends, and a secret for callback_url. */
export async function makeTenant(stack: ChaosStack, generations: number): Promise<Tenant> {
  const db = openDb(stack.databaseUrl, { poolSize: 1 });
  try {
    const { id: tenantId } = await createTenant({ db }, { name: 'chaos' });
    const key = () => createApiKey({ db }, { tenantId, scopes: ['generations', 'webhooks'], label: 'chaos' });
    const keys = [await key(), await key()] as const;
    for (const account of RICH_ACCOUNTS)
      await grant(stack, tenantId, account, 10 * PRICE * (generations + 100));
    await grant(stack, tenantId, POOR_ACCOUNT, PRICE * Math.ceil(generations / 40));
    const post = async (path: string, body: object) => {
      const answer = await fetch(`${stack.apiUrls[0]}${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${keys[0].text}`,
          'content-type': 'application/json',
          'idempotency-key': randomUUID(),
        },
        body: JSON.stringify(body),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}: ${text}`);
      return JSON.parse(text) as { secret: string };
    };
    const endpoint = await post('/v1/webhook-endpoints', { url: `${stack.webhookUrl}/endpoint` });
    const byUrl = await post('/v1/webhook-secret/rotate', { overlap_hours: 24 });
    Object.assign(stack.receiver.secrets, { endpoint: endpoint.secret, callback_url: byUrl.secret });
    return { id: tenantId, keys };
  } finally {
    await db.close();
  }
}

/** Credits into an account, which is made by it. */
export async function grant(
  stack: ChaosStack,
  tenantId: string,
  account: string,
  credits: number,
): Promise<void> {
  const db = openDb(stack.databaseUrl, { poolSize: 1 });
  try {
    const words = { businessKey: `chaos ${account}`, reason: 'chaos', actor: 'npm run chaos' };
    await grantCredits({ db }, { tenantId, account, credits, ...words });
  } finally {
    await db.close();
  }
}
