import pg from 'pg';

/** A copy of a database as it is at this moment, as a dump would hold it; every session of it is ended. */
export async function copyDatabase(
  url: string,
): Promise<{ restore(): Promise<void>; drop(): Promise<void> }> {
  const name = new URL(url).pathname.slice(1);
  const copy = `${name}_dump`;
  await administer(url, [ended(name), `CREATE DATABASE "${copy}" TEMPLATE "${name}"`]);
  return {
    /** Puts the copy in the place of the database; what was written since is gone. */
    restore: () =>
      administer(url, [
        `DROP DATABASE "${name}" WITH (FORCE)`,
        `ALTER DATABASE "${copy}" RENAME TO "${name}"`,
      ]),
    drop: () => administer(url, [`DROP DATABASE IF EXISTS "${copy}" WITH (FORCE)`]),
  };
}

const ended = (name: string): string =>
  `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`;

/** @param statements - each on its own: none of these may stand in a transaction */
async function administer(url: string, statements: readonly string[]): Promise<void> {
  const server = new URL(url);
  server.pathname = '/postgres';
  const client = new pg.Client({ connectionString: server.href });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
