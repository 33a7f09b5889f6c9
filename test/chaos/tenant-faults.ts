import { openDb } from '../../src/db/index.ts';
import { revokeKey } from '../../src/db/administer.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { PRICE } from './catalogue.ts';
import type { FaultContext } from './fault-context.ts';
import { grant } from './tenant.ts';

const AT_ONCE = 20;
const AFFORDED = 10;

/** F-19: twenty at once on a new account with credits for ten; ten and no more are taken. */
export async function askOnTheLastCredits(context: FaultContext, seed: number): Promise<string> {
  const { stack, tenant, load, violations } = context;
  const account = `poor-${seed}`;
  await grant(stack, tenant.id, account, AFFORDED * PRICE);
  const from = load.asked.length;
  for (let number = 0; number < AT_ONCE; number++) {
    load.ask({
      prompt: `chaos ${account} no ${number}; of the last credits`,
      model: 'infro',
      account,
      deadlineSeconds: 60,
      toldByUrl: false,
      cancelAfterMs: null,
      repeated: false,
      idempotencyKey: `chaos-${account}-${number}`,
      tooLong: false,
    });
  }
  const mine = load.asked.slice(from).filter((asked) => asked.account === account);
  const isAnswered = () => mine.every(({ status }) => status === 202 || status === 402);
  for (let waited = 0; waited < 600 && !isAnswered(); waited++) await sleep(100);
  const taken = mine.filter(({ status }) => status === 202).length;
  // What has ended without success has given its credits back, and room for another one.
  const { rows } = await stack.sql.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM generation WHERE id = ANY($1) AND state <> 'succeeded' AND completed_at IS NOT NULL`,
    [mine.map(({ id }) => id)],
  );
  const released = rows[0]?.count ?? 0;
  if (taken < AFFORDED || taken > AFFORDED + released) {
    violations.push({
      check: 'an account pays for as many as it can and no more',
      generation: null,
      problem: `${taken} of ${AT_ONCE} were taken on credits for ${AFFORDED}, ${released} of which were given back`,
    });
  }
  return `${taken} of ${AT_ONCE} taken`;
}

/** F-20: the key in use is revoked; what was asked for with it ends by the same rules, and another one goes on. */
export async function revokeTheKey({ stack, tenant, client }: FaultContext): Promise<string> {
  const [first, second] = tenant.keys;
  if (client.key === second.text) return 'was revoked before';
  const db = openDb(stack.databaseUrl, { poolSize: 1 });
  try {
    await revokeKey(db, first.id, { actor: 'npm run chaos', reason: 'F-20' });
  } finally {
    await db.close();
  }
  await sleep(1_500);
  client.key = second.text;
  return 'the key in use';
}
