import { randomUUID } from 'node:crypto';
import { openDb } from '../../src/db/index.ts';
import { runSamples } from '../../src/dev/sample.ts';
import { seedTenant, type Seed } from '../../src/dev/seed.ts';
import type { Stack } from '../../src/dev/stack.ts';
import { grantCredits } from '../../src/services/grant-credits.ts';

/** More than all cases together can spend: 402 and 404 for an account would hide what comes after them. */
const CREDITS = 1_000_000_000;
/** The accounts that the document names as examples. */
const ACCOUNTS = ['default', 'user_1'];

/**
 * A tenant with a key of all its scopes, an operator's key, credits, two ended generations and a secret for `callback_url`.
 * A new tenant has no limits (requests a minute, generations at once, credits and cancels a day), which is the highest
 * that they can be: a 429 would hide behaviour. Limits have tests of their own (test/api/limits.test.ts).
 */
export async function prepareCallers(stack: Stack): Promise<Seed> {
  const seed = await seedTenant(stack.databaseUrl);
  const db = openDb(stack.databaseUrl, { poolSize: 1 });
  try {
    for (const account of ACCOUNTS) {
      const { tenantId } = seed;
      const reason = 'schemathesis';
      const grant = { tenantId, account, credits: CREDITS, businessKey: randomUUID(), reason, actor: reason };
      await grantCredits({ db }, grant);
    }
  } finally {
    await db.close();
  }
  await createWebhookSecret(stack, seed);
  await runSamples(stack, seed.apiKey, () => {});
  return seed;
}

async function createWebhookSecret({ apiUrl }: Stack, { apiKey }: Seed): Promise<void> {
  const answer = await fetch(`${apiUrl}/v1/webhook-secret/rotate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: '{}',
    signal: AbortSignal.timeout(30_000),
  });
  if (!answer.ok) throw new Error(`POST /v1/webhook-secret/rotate answered ${answer.status}`);
}
