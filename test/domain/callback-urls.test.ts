import { describe, expect, it } from 'vitest';
import {
  callbackPlaceholder,
  callbackSecretPlaceholder,
  createCallbackUrls,
  withoutTokens,
} from '../../src/domain/callback-urls.ts';
import {
  callbackSecrets,
  makeCallbackToken,
  parseKeyring,
  verifyCallbackToken,
} from '../../src/domain/keyring.ts';

const base64 = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const ring = parseKeyring(`new:${base64(1)},old:${base64(2)}`);
const submissionId = 'sub_06f1m4k2h8v7x9q3w5y1z0a2b4_1';
const base = 'https://darkroom.example';

describe('createCallbackUrls', () => {
  const urls = createCallbackUrls(ring, base);

  it('uses the current key for new submissions, and none without a public address', () => {
    expect(urls.current()).toEqual({ base, keyId: 'new' });
    expect(createCallbackUrls(ring, null).current()).toBeNull();
  });

  it('builds the URL of base, provider and token', () => {
    const { token } = makeCallbackToken(ring, submissionId);
    expect(urls.url({ base, keyId: 'new', provider: 'infro', submissionId })).toBe(
      `${base}/callbacks/infro/${token}`,
    );
  });

  it('stays with the base and the key that a submission was made under', () => {
    const url = urls.url({ base: 'https://before.example', keyId: 'old', provider: 'fal', submissionId });
    const { token } = makeCallbackToken(parseKeyring(`old:${base64(2)}`), submissionId);
    expect(url).toBe(`https://before.example/callbacks/fal/${token}`);
    expect(verifyCallbackToken(ring, url!.split('/').at(-1)!)).toBe(submissionId);
  });

  it('has none when that key has left the ring', () => {
    expect(urls.url({ base, keyId: 'gone', provider: 'infro', submissionId })).toBeNull();
  });

  it('derives the secret of a submission’s callbacks, by key and submission, apart from its token', () => {
    const secret = (keyId: string, id = submissionId) => urls.secret({ keyId, submissionId: id });
    const other = submissionId.replace(/1$/, '2');
    const all = [secret('new'), secret('old'), secret('new', other), secret('old', other)];
    expect(new Set(all).size).toBe(4);
    for (const each of all) expect(each).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(secret('new')).toBe(
      createCallbackUrls(ring, 'https://other.example').secret({ keyId: 'new', submissionId }),
    );
    expect(secret('gone')).toBeNull();
    // Whoever receives a callback tries those of every key.
    expect(callbackSecrets(ring, submissionId)).toEqual([secret('new'), secret('old')]);
    expect(makeCallbackToken(ring, submissionId).token).not.toContain(secret('new'));
  });

  it('the secret of the callbacks is the same in every version: a restart must still verify them', () => {
    // Computed apart from this code, by RFC 5869 and RFC 2104.
    expect(urls.secret({ keyId: 'new', submissionId })).toBe('wpOtYguFV_Ull_vkX_Ek2Gg7jot_LzfoFphkTUTm5ok');
  });

  it('tells the submission of a URL that it made, and of no other', () => {
    const url = urls.url({ base, keyId: 'old', provider: 'aigenway', submissionId })!;
    expect(urls.submissionOf(url)).toBe(submissionId);
    // Providers may show it under another host, never under another path or with another token.
    expect(urls.submissionOf(url.replace(base, 'https://elsewhere.example'))).toBe(submissionId);
    for (const other of [
      '',
      `${url}x`,
      `${url}/`,
      `${url}?a=1`,
      url.replace('/callbacks/', '/'),
      callbackPlaceholder(submissionId),
    ])
      expect(urls.submissionOf(other)).toBeNull();
  });

  it('has a stand-in for the frozen bytes that nobody can call', () => {
    expect(callbackPlaceholder(submissionId)).toBe(`https://callback.invalid/${submissionId}`);
    expect(callbackSecretPlaceholder(submissionId)).toBe(`https://callback-secret.invalid/${submissionId}`);
  });
});

describe('withoutTokens', () => {
  it('SEC-1 hides every token in a body, however often and under whichever key, and no other byte', () => {
    const tokens = [ring, parseKeyring(`k:${base64(3)}`)].map(
      (keys) => makeCallbackToken(keys, submissionId).token,
    );
    const bytes = (a: string, b: string) =>
      Buffer.concat([
        Buffer.from(`{"webhook":"${base}\\/callbacks\\/x\\/${a}","ö":"${b}"}`),
        Buffer.from([0xff, 0]),
      ]);
    const hidden = `${submissionId}.hidden`;
    const [one = '', two = ''] = tokens;
    expect(Buffer.from(withoutTokens(bytes(one, two))).equals(bytes(hidden, hidden))).toBe(true);
    const [secret, retired] = callbackSecrets(ring, submissionId);
    const sent = bytes(one, `${secret},${retired},${secret}`);
    expect(
      Buffer.from(withoutTokens(sent, [secret, retired!])).equals(bytes(hidden, 'hidden,hidden,hidden')),
    ).toBe(true);
    const alone = Buffer.from(`{"ö":"${secret}"}`);
    expect(Buffer.from(withoutTokens(alone, [secret])).equals(Buffer.from('{"ö":"hidden"}'))).toBe(true);
    for (const other of [submissionId, `${submissionId}.short`, one.toUpperCase()])
      expect(Buffer.from(withoutTokens(bytes(other, ''))).equals(bytes(other, ''))).toBe(true);
  });
});
