import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { SEARCH_ATTRIBUTES } from './search-attributes.ts';

const KEYWORD = proto.temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD;
const RPC_MS = 10_000;

/** The names that this namespace does not know yet. */
export async function missingSearchAttributes(client: Client): Promise<string[]> {
  const { namespace } = client.options;
  const { customAttributes } = await client.withDeadline(Date.now() + RPC_MS, () =>
    client.connection.operatorService.listSearchAttributes({ namespace }),
  );
  return SEARCH_ATTRIBUTES.filter((name) => customAttributes?.[name] === undefined);
}

/** Registers what is missing; safe to repeat. @returns the names that were added. */
export async function registerSearchAttributes(client: Client): Promise<string[]> {
  const { namespace } = client.options;
  const missing = await missingSearchAttributes(client);
  if (missing.length === 0) return [];
  await client.withDeadline(Date.now() + RPC_MS, () =>
    client.connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
    }),
  );
  return missing;
}
