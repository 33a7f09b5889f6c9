import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultContext } from './fault-context.ts';
import type { Link } from './proxy.ts';
import type { Chance } from './random.ts';
import type { Hit } from './strike.ts';

/** Of the functions below, so many at once are meant: of a short load few calls of one fall into a few seconds. */
const MEANT = 4;
/** The functions whose commit a caller may not hear of. */
const WRITES = [
  'create_generation',
  'claim_submission',
  'record_submission',
  'record_callback',
  'record_observation',
  'record_output',
  'settle',
  'request_cancel',
  'record_delivery_attempt',
];

export function delayLinks({ stack }: FaultContext, chance: Chance, forMs: number): Promise<Hit> {
  const links = pickLinks(stack, chance, 4);
  return withLinks(links, forMs, chance.whole(20, 400), (link, delayMs) => link.disturb({ delayMs }));
}

export function cutLinks({ stack }: FaultContext, chance: Chance, forMs: number): Promise<Hit> {
  const how = chance.pick(['once', 'refused', 'up', 'down'] as const);
  return withLinks(pickLinks(stack, chance, 3), how === 'once' ? 0 : forMs, how, (link) => {
    if (how === 'once') link.cut();
    else link.disturb(how === 'refused' ? { refuse: true } : { stall: how });
  });
}

export async function loseAnswers({ stack }: FaultContext, chance: Chance, forMs: number): Promise<Hit> {
  const inDatabase = chance.hits(0.6);
  const links = inDatabase ? stack.databaseLinks : pickLinks(stack, chance, 4);
  const lostUntilNow = () => links.reduce((sum, { answersLost }) => sum + answersLost, 0);
  const before = lostUntilNow();
  const times = chance.whole(1, 3);
  const writes = chance.shuffle(WRITES).slice(0, MEANT).join('|');
  const lost = inDatabase
    ? { request: new RegExp(`SELECT (?:${writes})\\(`), times }
    : { afterBytes: chance.whole(0, 300), times };
  const { detail } = await withLinks(links, forMs, inDatabase ? writes : `${lost.afterBytes} bytes`, (link) =>
    link.loseAnswer(lost),
  );
  const hits = lostUntilNow() - before;
  return { detail: `${detail}, ${hits} lost`, hits };
}

/** Often one of those that always have somebody on them: most links lead to a provider, and few are in use at a moment. */
function pickLinks(
  { links, databaseLinks, clientLinks }: FaultContext['stack'],
  chance: Chance,
  most: number,
): Link[] {
  const mixed = chance.shuffle(links).slice(0, chance.whole(1, most));
  const busy = chance.pick([...databaseLinks, ...clientLinks]);
  return chance.hits(0.6) ? [...new Set([busy, ...mixed.slice(1)])] : mixed;
}

async function withLinks<T>(
  links: readonly Link[],
  forMs: number,
  how: T,
  disturb: (link: Link, how: T) => void,
): Promise<Hit> {
  const metUntilNow = () => links.reduce((sum, { met }) => sum + met, 0);
  const before = metUntilNow();
  for (const link of links) disturb(link, how);
  await sleep(forMs);
  for (const link of links) link.heal();
  const detail = `${links.map(({ name }) => name).join(', ')}: ${String(how)} for ${forMs} ms`;
  return { detail, hits: metUntilNow() - before };
}
