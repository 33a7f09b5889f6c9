import { readFile } from 'node:fs/promises';
import type { Client } from 'pg';

const FOLDER = new URL('../../prisma/migrations/', import.meta.url);

/** The folders of the migrations that each version brought; `later` are those after 0.3. */
const MIGRATIONS = {
  '0.1': ['20261129100000_tables', '20261129100100_functions'],
  '0.2': ['20261129200000_money_tables', '20261129200050_routing_tables', '20261129200100_money_functions'],
  '0.3': ['20261130100000_delivery_tables', '20261130100100_delivery_functions'],
  later: [
    '20261130200000_operating_tables',
    '20261130200100_operating_functions',
    '20261130300000_flat_tables',
    '20261130300010_flat_deliveries',
    '20261130300020_flat_callbacks',
    '20261130300100_flat_functions',
  ],
} as const;

/** Brings the database of this session up by what that version brought. */
export async function apply(client: Client, version: keyof typeof MIGRATIONS): Promise<void> {
  for (const folder of MIGRATIONS[version]) {
    await client.query(await readFile(new URL(`${folder}/migration.sql`, FOLDER), 'utf8'));
  }
}
