import { runDoctor } from '../../src/services/run-doctor.ts';
import { createStorage } from '../../src/storage/index.ts';
import type { Books, Finding, Row } from './open-books.ts';

/** What was charged, against what was promised and delivered; then every invariant. */
export async function checkCredits(books: Books): Promise<Finding[]> {
  return [
    ...books.rows.flatMap((row) => [...otherPrice(books, row), ...otherCapture(row), ...openHold(row)]),
    ...otherBalance(books),
    ...(await violated(books)),
  ];
}

/** The 202 told it. */
function otherPrice({ askedFor }: Books, { id, credits, hold, plan, idempotencyKey }: Row): Finding[] {
  const answer = askedFor.get(idempotencyKey)?.answers[0];
  const { creditsTotal } = plan as { creditsTotal: number };
  const told = answer === undefined ? creditsTotal : (JSON.parse(answer) as ToldPrice).credits?.held;
  const held = Number(hold?.amount ?? -1n);
  if (Number(credits) === told && held === told && creditsTotal === told) return [];
  const problem = `told ${told}, row ${credits}, hold ${held}, plan ${creditsTotal}`;
  return [{ check: 'the price is the one that was told', generation: id, problem }];
}

interface ToldPrice {
  readonly credits?: { readonly held: number };
}

/** A success costs the price of each output that was stored, everything else nothing. */
function otherCapture({ id, state, plan, hold, outputs, transactions }: Row): Finding[] {
  const { creditsPerOutput } = plan as { creditsPerOutput: number };
  const delivered = outputs.filter((one) => ['stored', 'deleting', 'deleted'].includes(one.state)).length;
  const expected = state === 'succeeded' ? creditsPerOutput * delivered : 0;
  const captures = transactions.filter(({ kind }) => kind === 'capture').length;
  const captured = Number(hold?.captured ?? 0n);
  if (captured === expected && captures === (state === 'succeeded' ? 1 : 0)) return [];
  const problem = `${state} with ${delivered} outputs: ${captured} captured in ${captures} entries, not ${expected}`;
  return [{ check: 'what was delivered is what was charged', generation: id, problem }];
}

function openHold({ id, state, completedAt, hold }: Row): Finding[] {
  if (completedAt === null || (hold?.state ?? 'none') !== 'held') return [];
  return [{ check: 'no hold is open', generation: id, problem: `${state}, its hold is ${hold?.state}` }];
}

/** An account's balance is what was granted without what the API shows as spent, generation by generation. */
function otherBalance({ rows, views }: Books): Finding[] {
  const accounts = new Map(rows.map(({ account }) => [account.id, account]));
  return [...accounts.values()].flatMap(({ id, name, granted, posted, held }) => {
    const spent = rows
      .filter(({ accountId }) => accountId === id)
      .map((row) => views.get(row.id))
      .reduce<number>((sum, view) => {
        if (typeof view !== 'object') return sum;
        return sum + view.credits.captured - view.credits.refunded;
      }, 0);
    if (Number(granted) - spent === Number(posted) && held === 0n) return [];
    const problem = `${name}: ${granted} granted, ${spent} spent by what the API shows, ${posted} left, ${held} held`;
    return [{ check: 'accounts add up', generation: null, problem }];
  });
}

async function violated({ db, world }: Books): Promise<Finding[]> {
  const results = await runDoctor({ db, storage: createStorage(world.storageUrl) });
  return results
    .filter(({ violations }) => violations > 0)
    .flatMap(({ name, violations, examples }) =>
      examples.map((key) => ({
        check: 'the doctor finds nothing',
        generation: /gen_[0-9a-z]+/.exec(key)?.[0] ?? null,
        problem: `${name}: ${key} (${violations} in all)`,
      })),
    );
}
