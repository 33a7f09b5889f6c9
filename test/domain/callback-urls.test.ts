import { describe, expect, it } from 'vitest';
import { callbackPlaceholder, createCallbackUrls } from '../../src/domain/callback-urls.ts';
import { makeCallbackToken, parseKeyring, verifyCallbackToken } from '../../src/domain/keyring.ts';

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
  });
});
