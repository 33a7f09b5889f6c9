// The table of the providers in ARCHITECTURE.md, from the adapters' own capabilities.
// node scripts/provider-table.mjs [--check]: writes the block between its markers; with --check exit status 1 when it is old.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { register } from 'tsx/esm/api';
import { ROOT } from './tools.mjs';

const FILE = join(ROOT, 'ARCHITECTURE.md');
const FACTS = ['idempotency', 'callbacks', 'cancel', 'list', 'find', 'cost', 'inlineInputBytes', 'models'];
const BLOCK = /(?<=<!-- providers:begin -->\n).*?(?=<!-- providers:end -->)/s;

register();
const { everyProvider, describeProvider } = await import('../src/services/list-providers.ts');
const { createOutboundHttp } = await import('../src/net/index.ts');
const { SIMULATORS } = await import('../src/simulators/index.ts');

const http = createOutboundHttp({ allow: [] });
const document = readFileSync(FILE, 'utf8');
const [found] = BLOCK.exec(document) ?? [];
if (found === undefined) throw new Error('ARCHITECTURE.md has lost <!-- providers:begin --> or its end');
const block = `\n${tables()}\n\n`;
await http.close();
if (process.argv[2] !== '--check') {
  const written = document.replace(BLOCK, () => block);
  writeFileSync(FILE, written);
} else if (block !== found) {
  process.stderr.write('The table in ARCHITECTURE.md is old: run "npm run docs:providers".\n');
  process.exitCode = 1;
}

function tables() {
  const defaults = described(new Map());
  const rows = defaults.map((provider) => [
    `\`${provider.name}\``,
    ...FACTS.map((fact) => [shown(provider[fact]), ...changesOf(provider, fact)].join('; ')),
  ]);
  const methods = defaults.flatMap(({ name, methods: offered }) =>
    Object.entries(offered).map(([method, fields]) => [`\`${name}\``, method, fields.join(', ')]),
  );
  return [
    table(
      [
        'provider',
        'idempotency',
        'callbacks',
        'cancel',
        'list',
        'find',
        'cost',
        'inline files',
        'model list',
      ],
      rows,
    ),
    table(['provider', 'method', 'input fields'], methods),
  ].join('\n\n');
}

function described(settings) {
  return [...everyProvider(http, settings).values()].map(describeProvider);
}

/** What the fact becomes by each setting that the provider's own simulator has to be given. */
function changesOf(provider, fact) {
  const { name } = provider;
  const { adapterSettings } = SIMULATORS.find((simulator) => simulator.name === name) ?? {};
  return Object.entries(adapterSettings?.('http://127.0.0.1:9') ?? {}).flatMap(([setting, value]) => {
    const set = described(new Map([[name, { settings: { [setting]: value } }]])).find(
      (one) => one.name === name,
    );
    const variable = `\`PROVIDER_${name.toUpperCase()}_${setting}\``;
    return set[fact] === provider[fact] ? [] : [`${shown(set[fact])} with ${variable}`];
  });
}

function shown(value) {
  if (typeof value === 'number') return value === 0 ? 'no' : `${value / 1_000_000} MB`;
  return value === true ? 'yes' : value === false ? 'no' : value.replaceAll('_', ' ');
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
