import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { verifyStandardWebhook } from '../../src/providers/standard-webhooks.ts';

/** The published vectors (reliability.md §2.1). */
const VECTORS = [
  {
    name: 'SW-1',
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: '1614265330',
    payload: '{"test": 2432232314}',
    signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
  {
    name: 'SW-2',
    secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
    id: 'msg_27UH4WbU6Z5A5EzD8u03UvzRbpk',
    timestamp: '1649367553',
    payload: '{"email":"test@example.com","username":"test_user"}',
    signature: 'v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=',
  },
] as const;
const [SW_1] = VECTORS;
/** Ed25519 over the same content; no scheme of ours. */
const SW_3 = 'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==';

interface Message {
  readonly id?: string;
  readonly timestamp?: string;
  readonly signature?: string;
  readonly payload?: string | Uint8Array;
  readonly secrets?: readonly string[];
  readonly nowMs?: number;
}

function verify(over: Message = {}): string | null {
  const { id, timestamp, signature, payload, secrets, nowMs } = {
    ...SW_1,
    secrets: [over.secrets === undefined ? SW_1.secret : ''],
    nowMs: Number(SW_1.timestamp) * 1_000,
    ...over,
  };
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
  return verifyStandardWebhook(headers, Buffer.from(payload), secrets, nowMs);
}

/** A right signature over whatever is asked, so that only the rule under test can refuse. */
function signed(id: string, timestamp: string, payload: string | Uint8Array = SW_1.payload): Message {
  const key = Buffer.from(SW_1.secret.slice(6), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(payload).digest('base64');
  return { id, timestamp, payload, signature: `v1,${signature}` };
}

describe('Standard Webhooks', () => {
  test.each(VECTORS)('$name verifies', ({ secret, ...message }) => {
    expect(verify({ ...message, secrets: [secret], nowMs: Number(message.timestamp) * 1_000 })).toBe(
      message.id,
    );
  });

  test.each([-300_000, 300_000])('tolerance: %i ms off verifies, one second more does not', (offsetMs) => {
    const atMs = Number(SW_1.timestamp) * 1_000;
    expect(verify({ nowMs: atMs + offsetMs })).toBe(SW_1.id);
    expect(verify({ nowMs: atMs + offsetMs + Math.sign(offsetMs) * 1_000 })).toBeNull();
  });

  test.each([
    '1614265330abc',
    '1614265330.9',
    '1614265330, 1',
    ' 1614265330',
    '1614265330 ',
    '+1614265330',
    '-1614265330',
    '1.614265330e9',
    '0x60379032',
    'hello',
    '',
    '1614265330000',
  ])('fact 5: timestamp %j is refused although it is signed', (timestamp) => {
    expect(verify(signed(SW_1.id, timestamp))).toBeNull();
  });

  test('fact 5: the raw bytes are signed, not their text', () => {
    const [ff, fe] = [Buffer.from([0xff]), Buffer.from([0xfe])];
    const message = signed(SW_1.id, SW_1.timestamp, ff);
    expect(verify(message)).toBe(SW_1.id);
    expect(verify({ ...message, payload: fe })).toBeNull();
  });

  test('the border between id, time and body cannot be moved', () => {
    const shifted = signed('msg', SW_1.timestamp, `${SW_1.timestamp}.body`);
    expect(verify({ ...shifted, id: `msg.${SW_1.timestamp}`, payload: 'body' })).toBeNull();
    expect(verify(signed('msg.1', SW_1.timestamp))).toBeNull();
  });

  test('the good one third in a list of four', () => {
    const other = `v1,${Buffer.alloc(32).toString('base64')}`;
    expect(verify({ signature: `${other} v2,abc ${SW_1.signature} ${other}` })).toBe(SW_1.id);
    expect(verify({ signature: `${SW_3} ${SW_1.signature}` })).toBe(SW_1.id);
  });

  test.each([
    ['SW-3 alone: Ed25519 is not offered', SW_3],
    ['WHI-4 v1a called v1', SW_3.replace('v1a', 'v1')],
    ['version alone', 'v1,'],
    ['first eight characters', SW_1.signature.slice(0, 11)],
    ['no comma', SW_1.signature.replace(',', '')],
    ['two commas', SW_1.signature.replace(',', ',,')],
    ['a malformed one before the good one', `v1 ${SW_1.signature}`],
    ['sixteen before the good one', `${'v1,AAAA '.repeat(16)}${SW_1.signature}`],
  ])('signature: %s', (_name, signature) => {
    expect(verify({ signature })).toBeNull();
  });

  test('secrets: each active one, none that is empty, short or in another form', () => {
    expect(verify({ secrets: ['whsec_', '', SW_1.secret] })).toBe(SW_1.id);
    expect(verify({ secrets: [`${SW_1.secret}\n`] })).toBe(SW_1.id);
    for (const secret of [
      '',
      'whsec_',
      SW_1.secret.slice(6),
      `WHSEC_${SW_1.secret.slice(6)}`,
      'whsec_!!!!',
    ]) {
      expect(verify({ secrets: [secret] })).toBeNull();
    }
    expect(verify({ secrets: [] })).toBeNull();
    const short = Buffer.from('fifteen bytes..');
    const digest = createHmac('sha256', short).update(`a.${SW_1.timestamp}.`).update('{}').digest('base64');
    const forged = { id: 'a', payload: '{}', signature: `v1,${digest}` };
    expect(verify({ ...forged, secrets: [`whsec_${short.toString('base64')}`] })).toBeNull();
  });

  test('each header is needed', () => {
    const headers = {
      'webhook-id': SW_1.id,
      'webhook-timestamp': SW_1.timestamp,
      'webhook-signature': SW_1.signature,
    };
    const nowMs = Number(SW_1.timestamp) * 1_000;
    const body = Buffer.from(SW_1.payload);
    expect(verifyStandardWebhook(headers, body, [SW_1.secret], nowMs)).toBe(SW_1.id);
    for (const name of Object.keys(headers)) {
      expect(verifyStandardWebhook({ ...headers, [name]: undefined }, body, [SW_1.secret], nowMs)).toBeNull();
    }
  });
});
