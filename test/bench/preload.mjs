// Preloaded into API, worker and bare worker by the bench (node --import): on SIGUSR2 begins, or ends, to note each SQL
// statement in BENCH_STATEMENTS.
import { writeFileSync, renameSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isMainThread } from 'node:worker_threads';

const require = createRequire(import.meta.url);

/** The id's own part, which generation, submission, event and webhook of one generation share. */
const ID = /(?:gen|sub)_([0-9a-z]{26})/;

function noteStatements(file) {
  const { Client } = require('pg');
  const query = Object.getOwnPropertyDescriptor(Client.prototype, 'query').value;
  let noted = null;
  Client.prototype.query = function noting(config, ...rest) {
    if (noted !== null) {
      const text = typeof config === 'string' ? config : (config?.text ?? '');
      const values = rest.find(Array.isArray) ?? config?.values ?? [];
      const [, id = null] = ID.exec(values.map(String).join(' ')) ?? [];
      noted.push({ atMs: Date.now(), text, id });
    }
    return query.call(this, config, ...rest);
  };
  process.on('SIGUSR2', () => {
    if (noted === null) {
      noted = [];
      return;
    }
    writeFileSync(`${file}.new`, JSON.stringify(noted));
    renameSync(`${file}.new`, file);
    noted = null;
  });
}

if (isMainThread) {
  const { BENCH_STATEMENTS } = process.env;
  if (BENCH_STATEMENTS !== undefined) noteStatements(BENCH_STATEMENTS);
}
