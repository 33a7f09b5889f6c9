// Preloaded into a process under test: kill -9 once, right before or after a given SQL function, or fs.link, by which a
// stored output gets its name. CRASH_AT = before:<function> | after:<function>; CRASH_MARKER = a file that says that it
// has happened.
import { existsSync, writeFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import pg from 'pg';

const [when, name] = (process.env['CRASH_AT'] ?? '').split(':');
const marker = process.env['CRASH_MARKER'];
const query = Reflect.get(pg.Client.prototype, 'query');

function die() {
  writeFileSync(marker, '');
  process.kill(process.pid, 'SIGKILL');
}

if (name === 'fs.link') {
  const { link } = fs;
  fs.link = async (from, to) => {
    const strikes = String(to).includes('gen_') && !existsSync(marker);
    if (strikes && when === 'before') die();
    await link(from, to);
    if (strikes) die();
  };
  syncBuiltinESMExports();
} else if (name !== undefined) {
  pg.Client.prototype.query = function patched(...args) {
    const text = typeof args[0] === 'string' ? args[0] : (args[0]?.text ?? '');
    if (!text.includes(`SELECT ${name}(`) || existsSync(marker)) return query.apply(this, args);
    if (when === 'before') die();
    const at = args.findLastIndex((arg) => typeof arg === 'function');
    if (at >= 0) args[at] = die;
    const result = query.apply(this, args);
    if (at < 0) result.then(die, die);
    return result;
  };
}
