import { randomUUID } from 'node:crypto';
import type { Db } from '../../src/db/index.ts';
import type { Scope } from '../../src/domain/api-key.ts';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { createTenant } from '../../src/services/create-tenant.ts';
import { grantCredits } from '../../src/services/grant-credits.ts';
import { send, type Answer, type Sent } from './client.ts';

/** A tenant of its own for one test, with credits and a key. */
export interface TestTenant {
  readonly id: string;
  readonly key: string;
  readonly keyId: string;
}

export async function newTenant(
  db: Db,
  { credits = 10_000, scopes = ['generations'] }: { credits?: number; scopes?: readonly Scope[] } = {},
): Promise<TestTenant> {
  const { id } = await createTenant({ db }, { name: 'test' });
  if (credits > 0) await grant(db, id, 'default', credits);
  const key = await createApiKey({ db }, { tenantId: id, scopes, label: 'test' });
  return { id, key: key.text, keyId: key.id };
}

export async function grant(db: Db, tenantId: string, account: string, credits: number): Promise<void> {
  const businessKey = randomUUID();
  await grantCredits({ db }, { tenantId, account, credits, businessKey, reason: 'test', actor: 'test' });
}

export const BODY = { model: 'infro-video', input: { prompt: 'A lighthouse in a storm' } };

export interface CreateOptions {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Sent['headers'];
}

/** `POST /v1/generations` of this tenant; a text body is sent as it is. */
export function create(
  url: string,
  tenant: TestTenant,
  { key = randomUUID(), body = BODY, headers = {} }: CreateOptions = {},
): Promise<Answer> {
  return send(url, {
    method: 'POST',
    path: '/v1/generations',
    headers: {
      Authorization: `Bearer ${tenant.key}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': key,
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

export function get(
  url: string,
  tenant: TestTenant,
  path: string,
  headers: Sent['headers'] = {},
): Promise<Answer> {
  return send(url, { path, headers: { Authorization: `Bearer ${tenant.key}`, ...headers } });
}

/** A JSON body to any path with this key; without an Idempotency-Key unless the headers have one. */
export function sendJson(
  url: string,
  key: string,
  { method = 'POST', path, body, headers = {} }: Omit<Sent, 'body'> & { readonly body: unknown },
): Promise<Answer> {
  return send(url, {
    method,
    path,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** An operator's key. */
export async function newOperator(db: Db): Promise<{ readonly key: string; readonly actor: string }> {
  const { id, text } = await createApiKey({ db }, { tenantId: null, scopes: ['admin'], label: 'test' });
  return { key: text, actor: `key:${id}` };
}

/** The credits of an account, as the API tells them. */
export async function readBalance(url: string, tenant: TestTenant, account = 'default') {
  const { available, held, spent, granted } = (
    await get(url, tenant, `/v1/accounts/${account}/credits`)
  ).json();
  return { available, held, spent, granted };
}

/** What a tenant has in the database: generations, open holds and the credits held. */
export async function rowsOf(db: Db, tenantId: string) {
  const [generations, holds, account] = await Promise.all([
    db.prisma.generation.count({ where: { tenantId } }),
    db.prisma.hold.count({ where: { state: 'held', generation: { tenantId } } }),
    db.prisma.ledgerAccount.findFirstOrThrow({ where: { tenantId, name: 'default' } }),
  ]);
  return { generations, holds, held: Number(account.held) };
}
