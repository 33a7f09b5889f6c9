import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { verifyWebhook, WebhookVerificationError } from '../../src/client/index.ts';

/** SW-1 and SW-2 of reliability.md §2.1, from the official libraries' tests. */
const SW1 = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: '1614265330',
  body: '{"test": 2432232314}',
  signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};
const SW2 = {
  secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
  id: 'msg_27UH4WbU6Z5A5EzD8u03UvzRbpk',
  timestamp: '1649367553',
  body: '{"email":"test@example.com","username":"test_user"}',
  signature: 'v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=',
};
type Vector = typeof SW1;

function headersOf({ id, timestamp, signature }: Vector) {
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
}
const check = (vector: Vector, over: Partial<Parameters<typeof verifyWebhook>[0]> = {}) =>
  verifyWebhook({
    body: vector.body,
    headers: headersOf(vector),
    secret: vector.secret,
    nowMs: Number(vector.timestamp) * 1_000,
    ...over,
  });

describe('verifyWebhook', () => {
  it.each([SW1, SW2])('WHO-1 takes the published vector $id', async (vector) => {
    expect(await check(vector)).toEqual(JSON.parse(vector.body));
    expect(await check(vector, { body: Buffer.from(vector.body) })).toEqual(JSON.parse(vector.body));
    expect(await check(vector, { headers: new Headers(headersOf(vector)) })).toBeTruthy();
    expect(await check(vector, { secret: [SW1.secret, SW2.secret] })).toBeTruthy();
  });

  it('takes headers in any case, and a good signature among others', async () => {
    const upper = Object.fromEntries(
      Object.entries(headersOf(SW1)).map(([name, value]) => [name.toUpperCase(), value]),
    );
    expect(await check(SW1, { headers: upper })).toBeTruthy();
    const signature = `v2,xx v1,AAAA v1a,${'a'.repeat(88)} ${SW1.signature}`;
    expect(await check({ ...SW1, signature })).toBeTruthy();
  });

  it.each<[string, Partial<Vector>]>([
    ['another secret', { secret: SW2.secret }],
    ['a changed body', { body: '{"test": 2432232315}' }],
    ['one more space', { body: '{"test":  2432232314}' }],
    ['another id', { id: 'msg_other' }],
    ['no signature', { signature: '' }],
    ['v1 alone', { signature: 'v1,' }],
    ['a part of a signature', { signature: SW1.signature.slice(0, 11) }],
    ['a signature of another kind only', { signature: SW1.signature.replace('v1', 'v0') }],
    ['the good one behind too many', { signature: `${'v1,AAAA '.repeat(30)}${SW1.signature}` }],
    ['a timestamp with a tail', { timestamp: '1614265330abc' }],
    ['a fraction', { timestamp: '1614265330.0' }],
    ['a negative time', { timestamp: '-1614265330' }],
    ['two times', { timestamp: '1614265330, 1' }],
  ])('WHI-1 WHI-3 WHI-4 WHI-7 refuses %s', async (_name, over) => {
    const nowMs = Number(SW1.timestamp) * 1_000;
    await expect(check({ ...SW1, ...over }, { nowMs })).rejects.toBeInstanceOf(WebhookVerificationError);
  });

  it.each([-301, 301])('refuses a message %i s away, and takes one at the edge', async (seconds) => {
    const nowMs = (Number(SW1.timestamp) + seconds) * 1_000;
    await expect(check(SW1, { nowMs })).rejects.toBeInstanceOf(WebhookVerificationError);
    await expect(check(SW1, { nowMs, toleranceSeconds: 301 })).resolves.toBeTruthy();
  });

  it('WHI-8 bytes that are no UTF-8 do not share a signature, and are refused', async () => {
    const key = Buffer.from(SW1.secret.slice(6), 'base64');
    const sign = (byte: number) => {
      const bytes = Buffer.concat([Buffer.from(`${SW1.id}.${SW1.timestamp}.`), Buffer.from([byte])]);
      return `v1,${createHmac('sha256', key).update(bytes).digest('base64')}`;
    };
    await expect(check({ ...SW1, signature: sign(0xff) }, { body: Buffer.from([0xfe]) })).rejects.toThrow(
      /no signature/,
    );
    await expect(check({ ...SW1, signature: sign(0xff) }, { body: Buffer.from([0xff]) })).rejects.toThrow(
      /not JSON/,
    );
  });

  it('a secret that is none is a mistake of the caller', async () => {
    await expect(check(SW1, { secret: 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' })).rejects.toThrow(TypeError);
    await expect(check(SW1, { secret: 'whsec_' })).rejects.toThrow(TypeError);
  });
});
