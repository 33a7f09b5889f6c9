import { createHmac } from 'node:crypto';
import { veoSimulator } from '../../src/simulators/veo.ts';
import type { ProviderFixture } from './fixture.ts';
import { AUDIENCE, token } from './veo-keys.ts';
import { JOB, MODEL, NOW_MS } from './veo-rows.ts';

export type Headers = Readonly<Record<string, string>>;

export const NOW = NOW_MS / 1_000;
export const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
export const EVENT = { type: 'video.generated', version: 'v1', data: { id: JOB, file_name: 'files/abc' } };

export const common = {
  name: 'veo',
  nowMs: NOW_MS,
  simulator: veoSimulator,
  job: { method: 'text-to-video', providerModel: MODEL, params: {} },
  input: (prompt: string) => ({ prompt, duration_seconds: 4 }),
  apiKey: 'AIza-key',
  jobId: JOB,
  submitRows: [],
  observeRows: [],
  cancelRows: [],
  outputUrls: { own: 'https://generativelanguage.googleapis.com/a', foreign: 'https://evil.example/a' },
} satisfies Partial<ProviderFixture>;

export const hmac = (secret: string, id: string, t: string | number, body: Buffer): string =>
  createHmac('sha256', Buffer.from(secret.replace(/^whsec_/, ''), 'base64'))
    .update(`${id}.${t}.`)
    .update(body)
    .digest('base64');
const forge = (name: string, header: string, change: (good: string) => string) =>
  [name, (good: Headers) => ({ ...good, [header]: change(good[header] ?? '') })] as const;

export const ofTheProject = {
  kind: 'signed',
  timestamped: true,
  manySignatures: true,
  secret: SECRET,
  // Verbatim, as a scheme that looks alike uses it.
  wrongKeyForms: [`whsec_${Buffer.from(SECRET).toString('base64')}`],
  sign: (body, secrets, t) => ({
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(t),
    'webhook-signature': secrets.map((secret) => `v1,${hmac(secret, 'evt_1', t, body)}`).join(' '),
  }),
  body: (id) => `{"type":"video.generated","version":"v1","data":{"id":"${id}","file_name":"files/a"}}`,
  verdict: { eventId: 'evt_1', type: 'video.generated', terminal: true, progress: null },
  forgeries: [
    forge('another id', 'webhook-id', (good) => `${good}2`),
    forge('another time', 'webhook-timestamp', (good) => String(Number(good) + 1)),
    forge('another version', 'webhook-signature', (good) => good.replace('v1,', 'v2,')),
    forge('a token of our own instead', 'webhook-signature', () =>
      token({ ...EVENT, aud: AUDIENCE, iat: NOW, exp: NOW + 60 }, 'a'),
    ),
  ],
} satisfies ProviderFixture['callbacks'];
