import type { Command } from 'commander';

const GEN = 'gen_06f1m4k2h8v7x9q3w5y1z0a2b4';
const SUB = 'sub_06f1m4k2h8v7x9q3w5y1z0a2b4_1';
const TEN = 'ten_06f1m4k2h8v7x9q3w5y1z0a2b4';
const WHE = 'whe_06f1m4k2h8v7x9q3w5y1z0a2b4';
const WHY = '--reason "ticket 4711"';

/** One example for each command, behind `npx darkroom`; a new command needs its line here. */
export const EXAMPLES: Readonly<Record<string, string>> = {
  dev: 'dev -- --fresh',
  api: 'api',
  worker: 'worker',
  doctor: 'doctor --json',
  report: 'report --from 2026-11-01 --by tenant',
  migrate: 'migrate',
  'tenant create': `tenant create "Acme Video" ${WHY}`,
  'tenant list': 'tenant list',
  'tenant retention': `tenant retention ${TEN} 720`,
  'tenant rotate-links': `tenant rotate-links ${TEN} --overlap-hours 24`,
  'key create': `key create --tenant ${TEN} --scope generations webhooks`,
  'key list': `key list --tenant ${TEN}`,
  'key revoke': 'key revoke a8Kq02LmZx81TnVb --reason leaked',
  grant: `grant ${TEN} 1000 --reference order-17`,
  ledger: `ledger ${TEN}`,
  'generation list': 'generation list --needs-operator',
  'generation show': `generation show ${GEN}`,
  'generation watch': `generation watch ${GEN}`,
  'generation wake': `generation wake ${GEN}`,
  'generation observe': `generation observe ${GEN} ${WHY}`,
  'generation retry-storing': `generation retry-storing ${GEN} ${WHY}`,
  'generation cancel': `generation cancel ${GEN} ${WHY}`,
  'generation redeliver': `generation redeliver ${GEN} ${WHY}`,
  'generation refund': `generation refund ${GEN} --reason bad_output --credits 40`,
  'generation resolve': `generation resolve ${GEN} --state failed ${WHY} --dry-run`,
  'generation erase': `generation erase ${GEN} ${WHY}`,
  'submission list': 'submission list --state unknown',
  'submission show': `submission show ${SUB}`,
  'submission attach': `submission attach ${SUB} --job JOB ${WHY}`,
  'submission not-accepted': `submission not-accepted ${SUB} ${WHY}`,
  'inbox list': 'inbox list --unmatched',
  'inbox show': 'inbox show cbk_12 --body',
  'webhook endpoints': 'webhook endpoints --troubled',
  'webhook enable': `webhook enable ${WHE} ${WHY}`,
  'webhook deliveries': `webhook deliveries --generation ${GEN}`,
  'webhook show': 'webhook show whd_12',
  'files remove-orphans': 'files remove-orphans --dry-run',
  'limit show': `limit show ${TEN}`,
  'limit set': `limit set ${TEN} --in-flight 10 ${WHY}`,
  'budget show': 'budget show',
  'budget set': `budget set infro 25.50 USD ${WHY}`,
  'budget lift': `budget lift infro ${WHY}`,
  'pause list': 'pause list',
  'pause provider': `pause provider infro ${WHY}`,
  'pause model': `pause model infro-video ${WHY}`,
  'pause tenant': `pause tenant ${TEN} ${WHY}`,
  'resume provider': `resume provider infro ${WHY}`,
  'resume model': `resume model infro-video ${WHY}`,
  'resume tenant': `resume tenant ${TEN} ${WHY}`,
  sweep: 'sweep --json',
  recover: `recover --restored-at 2026-11-30T02:00:00Z ${WHY} --dry-run`,
  replay: `replay ${GEN}`,
  providers: 'providers',
  'providers check': 'providers check infro',
  'provider new': 'provider new tidewater --callbacks unsigned --dry-run',
  'provider smoke': 'provider smoke infro --pay',
  simulate: 'simulate --only infro --port 4010',
  openapi: 'openapi',
  'webhook redeliver': `webhook redeliver --endpoint ${WHE} --since 2026-11-29T12:00:00Z ${WHY}`,
};

/** What stands under the help of a command; empty for one that only has others below it. */
export function exampleText(name: string): string {
  const example = EXAMPLES[name];
  return example === undefined ? '' : `\nExample:\n  npx darkroom ${example}`;
}

/** Puts its example under the help of each command. */
export function withExamples(program: Command, path: readonly string[] = []): Command {
  for (const command of program.commands) {
    const here = [...path, command.name()];
    const example = exampleText(here.join(' '));
    if (example !== '') command.addHelpText('after', example);
    withExamples(command, here);
  }
  return program;
}
