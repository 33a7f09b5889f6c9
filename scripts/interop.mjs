// npm run interop: signs webhooks with our own code and lets the official Python library (PyPI standardwebhooks) verify them, good and
// wrong ones. Python 3.9 or newer (PYTHON names it) is needed; the library is installed once into the user's cache folder.
// Last line: N passed, N failed; exit status 1 when one failed.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { register } from 'tsx/esm/api';
import { prepareOrExit } from './prepare.mjs';
import { ROOT } from './tools.mjs';

const LIBRARY = 'standardwebhooks==1.1.0';
const VERIFY = `
import json, sys
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
verdicts = []
for case in json.load(sys.stdin):
    try:
        read = Webhook(case["secret"]).verify(case["body"], case["headers"])
        verdicts.append("verified" if read == json.loads(case["body"]) else "misread")
    except WebhookVerificationError:
        verdicts.append("refused")
json.dump(verdicts, sys.stdout)
`;

await prepareOrExit();
register();
const { cacheFolder } = await import('../src/dev/cache.ts');
const { webhookBody } = await import('../src/domain/webhook-event.ts');
const { makeWebhookSecret } = await import('../src/domain/webhook-secret.ts');
const { webhookHeaders } = await import('../src/domain/webhook-signature.ts');

try {
  const cases = makeCases();
  report(cases, verify(installed(), cases));
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

function report(tried, verdicts) {
  const failed = tried.filter(({ expected }, index) => verdicts[index] !== expected);
  tried.forEach(({ name, expected }, index) => {
    say(`${verdicts[index] === expected ? 'ok    ' : 'FAILED'} ${name}: ${verdicts[index]}`);
  });
  say(`${tried.length - failed.length} passed, ${failed.length} failed`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

function makeCases() {
  const now = Math.floor(Date.now() / 1_000);
  const [secret, old, other] = [makeWebhookSecret(), makeWebhookSecret(), makeWebhookSecret()];
  const event = { id: 'evt_1_succeeded', type: 'generation.succeeded', timestamp: new Date().toISOString() };
  const sent = (text, secrets, timestamp = now) => {
    const message = { id: event.id, timestamp, body: webhookBody(event, { prompt: text }), secrets };
    return { body: message.body, headers: webhookHeaders(message, { attempt: 1, userAgent: 'Darkroom/0' }) };
  };
  const plain = sent('a cat', [secret]);
  return [
    { name: 'a delivery', secret, ...plain, expected: 'verified' },
    { name: 'text beyond ASCII', secret, ...sent('żółw 🐢\u2028"\\', [secret]), expected: 'verified' },
    { name: 'a rotation, the new secret', secret, ...sent('a cat', [secret, old]), expected: 'verified' },
    {
      name: 'a rotation, the old secret',
      secret: old,
      ...sent('a cat', [secret, old]),
      expected: 'verified',
    },
    { name: 'another secret', secret: other, ...plain, expected: 'refused' },
    { name: 'a changed body', secret, ...plain, body: plain.body.replace('cat', 'dog'), expected: 'refused' },
    {
      name: 'another id',
      secret,
      ...plain,
      headers: { ...plain.headers, 'webhook-id': 'evt_2_succeeded' },
      expected: 'refused',
    },
    {
      name: 'a replay after ten minutes',
      secret,
      ...sent('a cat', [secret], now - 600),
      expected: 'refused',
    },
  ];
}

/** The Python of a virtual environment that has the library. */
function installed() {
  const folder = join(cacheFolder(process.env), 'interop', LIBRARY);
  const pythonOf = (venv) =>
    process.platform === 'win32' ? join(venv, 'Scripts', 'python.exe') : join(venv, 'bin', 'python');
  if (existsSync(pythonOf(folder))) return pythonOf(folder);
  const python = [process.env.PYTHON, 'python3', 'python'].find(
    (name) => name && spawnSync(name, ['-c', 'import venv']).status === 0,
  );
  if (python === undefined) {
    throw new Error('Python 3 with its venv module was not found: install it, or name it in PYTHON.');
  }
  say(`installing ${LIBRARY} into ${folder}`);
  mkdirSync(dirname(folder), { recursive: true });
  const fresh = mkdtempSync(join(dirname(folder), 'new-'));
  try {
    // The programs of a virtual environment know their folder, so only its Python is used, which does not.
    must(python, ['-m', 'venv', fresh]);
    must(pythonOf(fresh), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', LIBRARY]);
    if (!existsSync(folder)) renameSync(fresh, folder);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return pythonOf(folder);
}

function verify(python, toVerify) {
  return JSON.parse(must(python, ['-c', VERIFY], JSON.stringify(toVerify)));
}

function must(program, args, input = '') {
  const options = { cwd: ROOT, encoding: 'utf8', input, timeout: 300_000 };
  const { status, stdout, stderr, error } = spawnSync(program, args, options);
  if (status !== 0) {
    throw new Error(`${program} ${args.slice(0, 3).join(' ')} failed:\n${error?.message ?? stderr}`);
  }
  return stdout;
}

function say(line) {
  process.stdout.write(`${line}\n`);
}
