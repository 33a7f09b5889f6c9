import pg from 'pg';

/** Every way in which a secret is likely to be written down. */
export function spellings(secret: string): readonly Buffer[] {
  const bytes = [Buffer.from(secret)];
  // Webhook secrets are base64 of the key that signs.
  if (secret.startsWith('whsec_')) bytes.push(Buffer.from(secret.slice('whsec_'.length), 'base64'));
  const texts = bytes.flatMap((raw) => [
    raw.toString('hex'),
    raw.toString('base64').replace(/=+$/, ''),
    raw.toString('base64url'),
  ]);
  return [...bytes, ...[...texts, encodeURIComponent(secret)].map((text) => Buffer.from(text))];
}

/** The names of the secrets that are in these bytes, in any spelling. */
export function secretsIn(
  bytes: Buffer | string,
  secrets: Readonly<Record<string, string>>,
): readonly string[] {
  const searched = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
  return Object.entries(secrets).flatMap(([name, secret]) =>
    spellings(secret).some((spelling) => searched.includes(spelling)) ? [name] : [],
  );
}

/** All that a dump of a database would hold: every value of every table, by `table.column`, and how many rows it has. */
export async function dumpOf(url: string): Promise<ReadonlyMap<string, readonly Buffer[]>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const found = new Map<string, Buffer[]>();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'",
    );
    for (const { name } of tables) {
      const { rows } = await client.query<{ line: Record<string, unknown> }>(
        `SELECT to_jsonb(t) AS line FROM "${name}" t`,
      );
      for (const { line } of rows) {
        for (const [column, value] of Object.entries(line)) {
          if (value === null) continue;
          const text = typeof value === 'string' ? value : JSON.stringify(value);
          const place = `${name}.${column}`;
          found.set(place, [...(found.get(place) ?? []), bytesOf(text)]);
        }
      }
    }
  } finally {
    await client.end();
  }
  return found;
}

/** PostgreSQL writes `bytea` as \x and hex; both the text and what it stands for are searched. */
function bytesOf(text: string): Buffer {
  return /^\\x(?:[0-9a-f]{2})+$/.test(text)
    ? Buffer.concat([Buffer.from(text), Buffer.from('\n'), Buffer.from(text.slice(2), 'hex')])
    : Buffer.from(text);
}

/** Where each secret is in a dump: its name → sorted `table.column`. */
export function placesIn(
  dump: ReadonlyMap<string, readonly Buffer[]>,
  secrets: Readonly<Record<string, string>>,
): Readonly<Record<string, readonly string[]>> {
  const places: Record<string, string[]> = {};
  for (const [place, values] of dump) {
    for (const name of secretsIn(
      Buffer.concat(values.flatMap((value) => [value, Buffer.from('\n')])),
      secrets,
    )) {
      (places[name] ??= []).push(place);
    }
  }
  return Object.fromEntries(Object.entries(places).map(([name, found]) => [name, found.sort()]));
}
