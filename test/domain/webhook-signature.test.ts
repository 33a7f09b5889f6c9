import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { parseKeyring } from '../../src/domain/keyring.ts';
import { sealSecret } from '../../src/domain/sealed-secret.ts';
import {
  makeWebhookSecret,
  openWebhookSecret,
  sealWebhookSecret,
  webhookSecretBytes,
  webhookSecretPurpose,
} from '../../src/domain/webhook-secret.ts';
import {
  standardSignature,
  timestampedSignature,
  webhookHeaders,
} from '../../src/domain/webhook-signature.ts';
import { verifyStandardWebhook } from '../../src/providers/standard-webhooks.ts';
import { parseTimestampedSignatures } from '../../src/providers/signatures.ts';

const NOW_MS = 1_700_000_000_900;
const message = (secrets: readonly string[]) => ({
  id: 'evt_1_succeeded',
  timestamp: 1_700_000_000,
  body: '{"a":"żółw"}',
  secrets,
});

describe('Standard Webhooks', () => {
  it.each([
    [
      'SW-1',
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      'msg_p5jXN8AQM9LWM0D4loKWxJek',
      1_614_265_330,
      '{"test": 2432232314}',
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    ],
    [
      'SW-2',
      'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
      'msg_27UH4WbU6Z5A5EzD8u03UvzRbpk',
      1_649_367_553,
      '{"email":"test@example.com","username":"test_user"}',
      'v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=',
    ],
  ])('WHO-1 %s: the published vector', (_name, secret, id, timestamp, body, signature) => {
    expect(standardSignature({ id, timestamp, body, secrets: [secret] })).toBe(signature);
  });

  it('WHO-2 the official library and our own verifier take what we sign, and nothing that was changed', () => {
    const secret = makeWebhookSecret();
    const now = Math.floor(Date.now() / 1_000);
    const { id, body } = message([]);
    const headers = webhookHeaders(
      { id, body, timestamp: now, secrets: [secret] },
      { attempt: 1, userAgent: 'Darkroom/1' },
    );
    expect(new Webhook(secret).verify(body, headers)).toEqual({ a: 'żółw' });
    expect(verifyStandardWebhook(headers, Buffer.from(body), [secret], now * 1_000)).toBe(id);
    expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow(/No matching signature/);
    expect(() => new Webhook(secret).verify(body, { ...headers, 'webhook-id': 'evt_2' })).toThrow(/matching/);
    expect(() => new Webhook(makeWebhookSecret()).verify(body, headers)).toThrow(/No matching signature/);
  });

  it('WHO-4 one signature for each secret, newest first: either secret verifies', () => {
    const [fresh, old] = [makeWebhookSecret(), makeWebhookSecret()];
    const signed = standardSignature(message([fresh, old]));
    expect(signed).toMatch(/^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/);
    for (const secret of [fresh, old]) {
      const headers = {
        'webhook-id': 'evt_1_succeeded',
        'webhook-timestamp': '1700000000',
        'webhook-signature': signed,
      };
      const { body } = message([]);
      expect(verifyStandardWebhook(headers, Buffer.from(body), [secret], NOW_MS)).toBe('evt_1_succeeded');
    }
    expect(signed.split(' ')).toEqual([
      standardSignature(message([fresh])),
      standardSignature(message([old])),
    ]);
  });

  it('refuses to sign with what is no secret, and does not show it', () => {
    for (const secret of ['', 'whsec_', 'geheim', 'whsec_c2hvcnQ=']) {
      expect(() => standardSignature(message([secret]))).toThrow(
        /^a webhook secret is not whsec_ and base64$/,
      );
    }
  });
});

describe('X-Webhook-Signature', () => {
  it('is t and one v1 for each secret: hex HMAC of "{t}.{body}" under the whole text of the secret', () => {
    const [fresh, old] = [makeWebhookSecret(), makeWebhookSecret()];
    const header = timestampedSignature(message([fresh, old]));
    const hex = (secret: string) =>
      createHmac('sha256', secret).update('1700000000.{"a":"żółw"}').digest('hex');
    expect(header).toBe(`t=1700000000,v1=${hex(fresh)},v1=${hex(old)}`);
    expect(parseTimestampedSignatures(header)).toEqual({
      timestamp: '1700000000',
      signatures: [hex(fresh), hex(old)],
    });
  });

  it('of a fixed message, as openssl signs it', () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    expect(
      timestampedSignature({
        id: 'evt',
        timestamp: 1_614_265_330,
        body: '{"test": 2432232314}',
        secrets: [secret],
      }),
    ).toBe('t=1614265330,v1=2e37df5d4a028c51a7f3133d64ae1e300d2c2c900f1b1d49d4369ad2530f8964');
  });
});

it('WHO-12 the headers of an attempt are these and no others', () => {
  const secret = makeWebhookSecret();
  const headers = webhookHeaders(message([secret]), { attempt: 3, userAgent: 'Darkroom/0.3.0' });
  expect(headers).toEqual({
    'content-type': 'application/json',
    'user-agent': 'Darkroom/0.3.0',
    'webhook-id': 'evt_1_succeeded',
    'webhook-timestamp': '1700000000',
    'webhook-signature': standardSignature(message([secret])),
    'x-webhook-signature': timestampedSignature(message([secret])),
    'x-webhook-attempt': '3',
  });
});

describe('a secret', () => {
  it('is whsec_ and the base64 of 32 random bytes, each time another', () => {
    const [one, two] = [makeWebhookSecret(), makeWebhookSecret()];
    expect(one).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(webhookSecretBytes(one)).toHaveLength(32);
    expect(one).not.toBe(two);
  });

  it.each([
    ['24 bytes', `whsec_${Buffer.alloc(24).toString('base64')}`, 24],
    ['64 bytes', `whsec_${Buffer.alloc(64, 1).toString('base64')}`, 64],
    ['23 bytes', `whsec_${Buffer.alloc(23).toString('base64')}`, null],
    ['65 bytes', `whsec_${Buffer.alloc(65).toString('base64')}`, null],
    ['another prefix', `whsk_${Buffer.alloc(32).toString('base64')}`, null],
    ['nothing', '', null],
    ['the prefix alone', 'whsec_', null],
    ['base64url', `whsec_${Buffer.alloc(32, 0xff).toString('base64url')}`, null],
    ['without its padding', `whsec_${Buffer.alloc(32).toString('base64').slice(0, -1)}`, null],
    ['spaces around it', ` whsec_${Buffer.alloc(32).toString('base64')}`, null],
  ])('of %s', (_name, text, length) => {
    expect(webhookSecretBytes(text)?.length ?? null).toBe(length);
  });

  it('WHO-11 is sealed at rest for its owner: it opens for no other endpoint, tenant or key', () => {
    const ring = (id: string, byte: number) =>
      parseKeyring(`${id}:${Buffer.alloc(32, byte).toString('base64')}`);
    const owner = { tenantId: 'ten_a', endpointId: 'whe_a' };
    const secret = makeWebhookSecret();
    const sealed = sealWebhookSecret(ring('k1', 1), owner, secret);
    expect(sealed.keyId).toBe('k1');
    expect(sealed.sealed.includes(secret.slice(6))).toBe(false);
    expect(sealed.sealed.includes(webhookSecretBytes(secret)!)).toBe(false);
    expect(openWebhookSecret(ring('k1', 1), owner, sealed)).toBe(secret);
    expect(openWebhookSecret(ring('k1', 1), { ...owner, endpointId: null }, sealed)).toBeNull();
    expect(openWebhookSecret(ring('k1', 1), { ...owner, tenantId: 'ten_b' }, sealed)).toBeNull();
    expect(openWebhookSecret(ring('k2', 1), owner, sealed)).toBeNull();
    expect(openWebhookSecret(ring('k1', 2), owner, sealed)).toBeNull();
    expect(webhookSecretPurpose(owner)).toBe('webhook:ten_a:whe_a');
    expect(webhookSecretPurpose({ ...owner, endpointId: null })).toBe('webhook:ten_a:default');
  });

  it('that was sealed as something else does not count as one', () => {
    const ring = parseKeyring(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
    const owner = { tenantId: 'ten_a', endpointId: null };
    const sealed = sealSecret(ring, Buffer.from('no secret of ours'), webhookSecretPurpose(owner));
    expect(openWebhookSecret(ring, owner, sealed)).toBeNull();
  });
});
