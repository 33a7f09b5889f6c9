// npm run interop: signs webhooks with our own code and lets the official Python library (PyPI standardwebhooks) verify them, good and
// wrong ones; then vendors' own Python clients (scripts/interop/) against our simulators, and OpenAI's against our own API. Python 3.9 or newer (PYTHON names it) is
// needed; each library is installed once into the user's cache folder. Last line: N passed, N failed; exit status 1 when one failed.
import { register } from 'tsx/esm/api';
import { lumaClient } from './interop/luma.mjs';
import { pythonWith, runPython } from './interop/python.mjs';
import { openaiClient } from './interop/videos.mjs';
import { prepareOrExit } from './prepare.mjs';

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
  const cache = cacheFolder(process.env);
  report([...(await verified(cache)), ...(await lumaClient(cache)), ...(await openaiClient(cache))]);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

function report(tried) {
  const failed = tried.filter(({ expected, verdict }) => verdict !== expected);
  for (const { name, expected, verdict } of tried) {
    say(`${verdict === expected ? 'ok    ' : 'FAILED'} ${name}: ${verdict}`);
  }
  say(`${tried.length - failed.length} passed, ${failed.length} failed`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

async function verified(cache) {
  const cases = makeCases();
  const python = await pythonWith(cache, LIBRARY);
  const verdicts = JSON.parse(await runPython(python, ['-c', VERIFY], JSON.stringify(cases)));
  return cases.map((each, index) => ({ ...each, verdict: verdicts[index] }));
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

function say(line) {
  process.stdout.write(`${line}\n`);
}
