import type { Db } from '../../src/db/index.ts';
import { accept, observe, send as sendJob } from '../db/fixtures.ts';
import { follow, type Followed, type Frame } from './event-client.ts';
import type { ApiSuite } from './suite.ts';
import { create, newTenant, type TestTenant } from './tenants.ts';

/** A generation of a tenant of its own, and the path of its events. */
export interface Asked {
  readonly tenant: TestTenant;
  readonly id: string;
  readonly path: string;
}

/** Event 1. */
export async function ask({ db, api }: Pick<ApiSuite, 'db' | 'api'>): Promise<Asked> {
  const tenant = await newTenant(db);
  const id = (await create(api.url, tenant)).json()['id'] as string;
  return { tenant, id, path: `/v1/generations/${id}/events` };
}

/** As its run would: sent, accepted, some progress. Events 2 to 4. */
export async function begin(db: Db, id: string): Promise<void> {
  await sendJob(db, id);
  await accept(db, id);
  await observe(db, id, 'running', { progress: 0.25 });
}

/** Follows it with the tenant's key. */
export function open(
  url: string,
  { tenant, path }: Pick<Asked, 'tenant' | 'path'>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Followed> {
  return follow(url, path, { Authorization: `Bearer ${tenant.key}`, ...headers });
}

/** `3 stage` for each event. */
export function shown(frames: readonly Frame[]): string[] {
  return frames.map(({ id, event }) => `${id ?? ''} ${event ?? ''}`);
}
