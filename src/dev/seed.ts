import { openDb } from '../db/index.ts';
import { createApiKey } from '../services/create-api-key.ts';
import { createTenant } from '../services/create-tenant.ts';
import { grantCredits } from '../services/grant-credits.ts';

const GRANTED_CREDITS = 10_000;

/** The tenant that `npm start` made, kept in its data folder. */
export interface Seed {
  readonly tenantId: string;
  readonly apiKey: string;
  readonly adminKey: string;
}

/** A tenant with an API key, an operator's key, and credits on its default account. */
export async function seedTenant(databaseUrl: string): Promise<Seed> {
  const db = openDb(databaseUrl, { poolSize: 1 });
  try {
    const { id: tenantId } = await createTenant({ db }, { name: 'Sample tenant' });
    const label = 'npm start';
    const tenantKey = await createApiKey(
      { db },
      { tenantId, scopes: ['generations', 'credits:grant', 'webhooks'], label },
    );
    const adminKey = await createApiKey({ db }, { tenantId: null, scopes: ['admin'], label });
    await grant(db, tenantId, 'first');
    return { tenantId, apiKey: tenantKey.text, adminKey: adminKey.text };
  } finally {
    await db.close();
  }
}

/** More credits for a tenant of an earlier run that has spent its own. */
export async function topUp(databaseUrl: string, tenantId: string): Promise<void> {
  const db = openDb(databaseUrl, { poolSize: 1 });
  try {
    await grant(db, tenantId, String(Date.now()));
  } finally {
    await db.close();
  }
}

async function grant(db: ReturnType<typeof openDb>, tenantId: string, key: string): Promise<void> {
  await grantCredits(
    { db },
    {
      tenantId,
      account: 'default',
      credits: GRANTED_CREDITS,
      businessKey: `npm-start:${tenantId}:${key}`,
      reason: 'sample credits',
      actor: 'npm start',
    },
  );
}

/** What the public API does not show: how a generation's end was learned, and where its first output lies. */
export async function readSampleFacts(
  databaseUrl: string,
  generationId: string,
): Promise<{ readonly finishedBy: string | null; readonly path: string | null }> {
  const db = openDb(databaseUrl, { poolSize: 1 });
  try {
    const [submission, output] = await Promise.all([
      db.prisma.submission.findFirst({ where: { generationId }, orderBy: { ordinal: 'desc' } }),
      db.prisma.output.findFirst({ where: { generationId }, orderBy: { index: 'asc' } }),
    ]);
    return { finishedBy: submission?.finishedBy ?? null, path: output?.path ?? null };
  } finally {
    await db.close();
  }
}
