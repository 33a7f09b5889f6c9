import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createOutboundHttp } from '../../src/net/index.ts';
import { PROVIDERS } from '../../src/providers/index.ts';
import { everyProvider } from '../../src/services/list-providers.ts';

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const block = /<!-- providers:begin -->\n(.*)<!-- providers:end -->/s.exec(
  readFileSync(path('ARCHITECTURE.md'), 'utf8'),
)![1]!;
const rows = block
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => cell.trim()));

describe('the table of providers in ARCHITECTURE.md', () => {
  it('is what scripts/provider-table.mjs writes now', () => {
    const { status, stderr } = spawnSync(process.execPath, [path('scripts/provider-table.mjs'), '--check'], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('has every provider once, with what its adapter says', () => {
    const providers = everyProvider(createOutboundHttp({ allow: [] }));
    const overview = rows.filter((cells) => cells.length === 11);
    expect(overview.map((cells) => cells[1])).toEqual(PROVIDERS.map(({ name }) => `\`${name}\``));
    for (const [, name, idempotency, callbacks, cancel, list, find, cost, inline] of overview) {
      const provider = providers.get(name!.replaceAll('`', ''))!;
      const { capabilities } = provider;
      const facts = [
        idempotency,
        callbacks!.split(';')[0],
        cancel!.replace(' ', '_'),
        list,
        find,
        cost,
        inline,
      ];
      expect(facts).toEqual([
        capabilities.idempotency,
        capabilities.callbacks,
        capabilities.cancel,
        capabilities.list ? 'yes' : 'no',
        provider.find === undefined ? 'no' : 'yes',
        capabilities.cost,
        capabilities.inlineInputBytes === 0 ? 'no' : `${capabilities.inlineInputBytes / 1_000_000} MB`,
      ]);
    }
  });

  it('has every method with the fields that it takes', () => {
    const providers = everyProvider(createOutboundHttp({ allow: [] }));
    const shown = rows
      .filter((cells) => cells.length === 5)
      .map(([, name, method, fields]) => [name, method, fields]);
    expect(shown).toEqual(
      [...providers].flatMap(([name, { methods }]) =>
        Object.entries(methods).map(([method, fields]) => [`\`${name}\``, method, fields.join(', ')]),
      ),
    );
  });
});
