import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { filePath } from '../../src/domain/file-links.ts';
import { links, linkTo, OUTPUT, partsOf, SIGNER } from './signed-links.ts';

describe('SURL-2 anything changed', () => {
  const { url } = linkTo();

  it('any byte of path or query', () => {
    fc.assert(
      fc.property(fc.nat(url.length - 1), fc.integer({ min: 0, max: 255 }), (at, code) => {
        const byte = String.fromCharCode(code);
        fc.pre(byte !== url[at]);
        const changed = url.slice(0, at) + byte + url.slice(at + 1);
        expect(links.verify(SIGNER, ...partsOf(changed))).toEqual({ verdict: 'invalid' });
      }),
      { numRuns: 2_000 },
    );
  });

  it('any byte taken out or put in', () => {
    fc.assert(
      fc.property(fc.nat(url.length), fc.string({ minLength: 1, maxLength: 3 }), (at, more) => {
        fc.pre(!`${url.slice(at)}${more}`.startsWith('#'));
        expect(links.verify(SIGNER, ...partsOf(url.slice(0, at) + more + url.slice(at))).verdict).toBe(
          'invalid',
        );
        fc.pre(at < url.length);
        expect(links.verify(SIGNER, ...partsOf(url.slice(0, at) + url.slice(at + 1))).verdict).toBe(
          'invalid',
        );
      }),
    );
  });

  it('a second spelling of the same signature', () => {
    const [path, query] = partsOf(url);
    const last = query.at(-1)!;
    // 43 characters hold 258 bits of which 256 count, so four spellings decode alike.
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const others = [1, 2, 3].map((bits) => alphabet[alphabet.indexOf(last) ^ bits]!);
    for (const other of others) {
      const spelled = `${query.slice(0, -1)}${other}`;
      const bytes = (text: string) => Buffer.from(text.slice(-43), 'base64url').toString('hex');
      expect(bytes(spelled)).toBe(bytes(query));
      expect(links.verify(SIGNER, path, spelled).verdict).toBe('invalid');
    }
  });

  it('another file of the same tenant', () => {
    const [, query] = partsOf(url);
    for (const path of [filePath({ ...OUTPUT, index: 1 }), '/files/inputs/x', '']) {
      expect(links.verify(SIGNER, path, query).verdict).toBe('invalid');
    }
  });
});

it.each([
  ['expires twice', (query: string) => `${query}&${query.split('&')[0]}`],
  ['signature twice', (query: string) => `${query}&${query.split('&')[2]}`],
  ['expires twice, first another', (query: string) => `expires=4070908800&${query}`],
  ['all twice', (query: string) => `${query}&${query}`],
  ['another parameter', (query: string) => `${query}&x=1`],
  ['another parameter first', (query: string) => `x=1&${query}`],
  ['another order', (query: string) => query.split('&').reverse().join('&')],
  ['an end', (query: string) => `${query}&`],
  ['an escaped digit', (query: string) => query.replace(/expires=(\d)/, 'expires=%3$1')],
  ['an escaped name', (query: string) => query.replace('key', '%6bey')],
  ['another case', (query: string) => query.replace('expires', 'Expires')],
  ['a leading zero', (query: string) => query.replace('expires=', 'expires=0')],
  ['a padded signature', (query: string) => `${query}=`],
  ['a line end', (query: string) => `${query}\n`],
  ['white space', (query: string) => ` ${query}`],
  ['no signature', (query: string) => query.replace(/&signature=.*/, '')],
  ['an empty signature', (query: string) => query.replace(/signature=.*/, 'signature=')],
  ['nothing', () => ''],
])('SURL-4 %s', (_what, change) => {
  const [path, query] = partsOf(linkTo().url);
  expect(links.verify(SIGNER, path, query).verdict).toBe('valid');
  expect(links.verify(SIGNER, path, change(query))).toEqual({ verdict: 'invalid' });
});

it('SURL-6 a path is compared as it was sent, never decoded', () => {
  const [path, query] = partsOf(linkTo().url);
  const spellings = [
    path.replace('gen_', '%67en_'),
    path.replace('/0', '%2f0'),
    path.replace('/0', '/%30'),
    path.replace('/0', '/./0'),
    path.replace('/0', '/x/../0'),
    `${path}%00`,
    `${path}/`,
    `/${path}`,
    path.toUpperCase(),
  ];
  for (const spelling of spellings) expect(links.verify(SIGNER, spelling, query).verdict).toBe('invalid');
});
