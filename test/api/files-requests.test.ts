import { describe, expect, it } from 'vitest';
import { filePath } from '../../src/domain/file-links.ts';
import { newId } from '../../src/domain/ids.ts';
import { send } from './client.ts';
import {
  CONTENT,
  fetchFile,
  linkOf,
  oneLink,
  sha256,
  signedLink,
  storedInput,
  succeeded,
  useFiles,
} from './files.ts';
import { codeOf } from './suite.ts';
import { newTenant } from './tenants.ts';

const suite = useFiles();
const TAG = `"sha256-${sha256(CONTENT)}"`;

let stored: ReturnType<typeof oneLink> | undefined;
/** One link for all that change nothing. */
const one = () => (stored ??= oneLink(suite));

const fetchIt = (path: string, headers: Record<string, string | string[]> = {}, method = 'GET') =>
  fetchFile(suite.api.url, path, { headers, method });
const ask = (path: string, headers: Record<string, string> = {}) => send(suite.api.url, { path, headers });

describe('SURL-10 ranges and conditions', () => {
  it.each<[string, number, string, string]>([
    ['bytes=0-9', 206, 'bytes 0-9/100', '0123456789'],
    ['bytes=95-', 206, 'bytes 95-99/100', '56789'],
    ['bytes=-3', 206, 'bytes 97-99/100', '789'],
    ['bytes=98-1000', 206, 'bytes 98-99/100', '89'],
  ])('%s', async (range, status, contentRange, expected) => {
    const { link } = await one();
    const answer = await fetchIt(link, { Range: range });
    expect([answer.status, answer.headers['content-range'], answer.bytes.toString()]).toEqual([
      status,
      contentRange,
      expected,
    ]);
    expect(answer.headers).toMatchObject({ 'content-length': String(expected.length), etag: TAG });
  });

  it('several, one of other bytes and one that can’t be read give the whole; one outside is 416', async () => {
    const { link } = await one();
    const whole: Record<string, string | string[]>[] = [
      { Range: 'bytes=0-1,4-5' },
      { Range: ['bytes=0-1', 'bytes=4-5'] },
      { Range: 'bytes=0-1', 'If-Range': '"other"' },
      { Range: 'bytes=0-1', 'If-Range': [TAG, TAG] },
      { Range: 'bytes=0-1', 'If-Range': 'Sun, 29 Nov 2026 12:00:00 GMT' },
      { Range: 'lines=0-1' },
    ];
    for (const headers of whole) {
      const answer = await fetchIt(link, headers);
      expect([answer.status, answer.bytes.length, answer.headers['content-range']]).toEqual([
        200,
        100,
        undefined,
      ]);
    }
    expect((await fetchIt(link, { Range: 'bytes=0-1', 'If-Range': TAG })).status).toBe(206);
    const outside = await ask(link, { Range: 'bytes=100-' });
    expect([...codeOf(outside), outside.headers['content-range']]).toEqual([
      416,
      'invalid_range',
      'bytes */100',
    ]);
  });

  it('If-None-Match is 304 without a body; If-Match of other bytes is 412', async () => {
    const { link } = await one();
    for (const method of ['GET', 'HEAD']) {
      const same = await fetchIt(link, { 'If-None-Match': `"x", W/${TAG}`, Range: 'bytes=0-1' }, method);
      expect([same.status, same.bytes.length, same.headers.etag]).toEqual([304, 0, TAG]);
      expect(same.headers['cache-control']).toMatch(/^private, max-age=\d+$/);
    }
    expect((await fetchIt(link, { 'If-None-Match': '"x"' })).status).toBe(200);
    expect((await fetchIt(link, { 'If-Match': TAG })).status).toBe(200);
    expect(codeOf(await ask(link, { 'If-Match': '"x"' }))).toEqual([412, 'precondition_failed']);
  });
});

describe('who has no valid link', () => {
  it('SURL-2 SURL-7 learns nothing: forged, another tenant’s, of no file and of no form are one answer', async () => {
    const [owner, other] = await Promise.all([newTenant(suite.db), newTenant(suite.db)]);
    const id = await succeeded(suite, owner);
    const inputId = await storedInput(suite, owner);
    const link = await linkOf(suite.api.url, owner, id);
    const query = link.slice(link.indexOf('?'));
    const flipped = `${link.slice(0, -2)}${link.endsWith('AA') ? 'BB' : 'AA'}`;
    const tries = [
      flipped,
      link.replace('/0?', '/1?'),
      link.replace(id, newId('gen')),
      signedLink(suite, other, { kind: 'output', generationId: id, index: 0 }),
      signedLink(suite, owner, { kind: 'output', generationId: newId('gen'), index: 0 }),
      signedLink(suite, owner, { kind: 'output', generationId: id, index: 7 }),
      signedLink(suite, other, { kind: 'input', inputId }),
      signedLink(suite, owner, { kind: 'input', inputId: newId('inp') }),
      filePath({ kind: 'output', generationId: id, index: 0 }),
      `/files/outputs/gen_short/0${query}`,
      `/files/outputs/${id}/00${query}`,
      `/files/outputs/${id}/1e0${query}`,
      `/files/outputs/${id}/99999999999999999999${query}`,
      `/files/outputs/${'x'.repeat(500)}/0${query}`,
      `/files/inputs/${id}${query}`,
      `${link}&x=1`,
      `${link}&${query.slice(1)}`,
      link.replace(/expires=\d+/, 'expires=4070908800'),
      `${link.split('?')[0]}?${query.slice(1).split('&').reverse().join('&')}`,
      link.replace('&key=', '&key%3d'),
    ];
    const answers = await Promise.all(tries.map((path) => ask(path, { 'X-Request-Id': 'same' })));
    const shown = answers.map(({ status, headers, text }) =>
      JSON.stringify({ status, headers: { ...headers, date: null }, text }),
    );
    expect(new Set(shown).size).toBe(1);
    expect(codeOf(answers[0]!)).toEqual([403, 'link_invalid']);
    expect((await ask(link)).status).toBe(200);
  });

  it('SURL-1 SURL-7 an expired link says so to the one it was made for only', async () => {
    const [owner, other] = await Promise.all([newTenant(suite.db), newTenant(suite.db)]);
    const id = await succeeded(suite, owner);
    const file = { kind: 'output', generationId: id, index: 0 } as const;
    const [mine, theirs] = [signedLink(suite, owner, file), signedLink(suite, other, file)];
    suite.clock.aheadMs = 2 * 3_600_000;
    expect(codeOf(await ask(mine))).toEqual([403, 'link_expired']);
    expect(codeOf(await ask(theirs))).toEqual([403, 'link_invalid']);
  });

  it('SURL-5 a link is for reading: every other method is 405', async () => {
    const { link } = await one();
    for (const method of ['DELETE', 'PUT', 'POST', 'PATCH', 'OPTIONS']) {
      const answer = await send(suite.api.url, { method, path: link });
      expect([...codeOf(answer), answer.headers['allow']]).toEqual([405, 'method_not_allowed', 'GET, HEAD']);
    }
    expect((await ask(link)).status).toBe(200);
  });

  it.each([
    ['an escaped slash', () => `/files/outputs/..%2f..%2fetc%2fpasswd/0`, 404],
    ['an escaped slash in the right path', (id: string) => `/files/outputs/${id}%2f0`, 404],
    ['NUL', (id: string) => `/files/outputs/${id}/0%00`, 404],
    ['an escaped letter', (id: string) => `/files/outputs/%67${id.slice(1)}/0`, 404],
    ['escaped dots', (id: string) => `/files/outputs/%2e%2e/${id}/0`, 404],
    ['dots as an id', () => '/files/outputs/%2e%2e/0', 404],
    ['dots', (id: string) => `/files/outputs/${id}/../${id}/0`, 404],
    ['a dot', (id: string) => `/files/outputs/./${id}/0`, 404],
    ['a slash more', (id: string) => `/files/outputs/${id}/0/`, 404],
    ['another case', (id: string) => `/FILES/outputs/${id}/0`, 404],
    ['a broken escape', (id: string) => `/files/outputs/${id}/%zz`, 400],
    ['half a character', (id: string) => `/files/outputs/${id}/%c3`, 400],
  ])('SURL-6 %s in the path of a valid link', async (_what, change, status) => {
    const { link, id } = await one();
    const answer = await ask(`${change(id)}${link.slice(link.indexOf('?'))}`);
    expect(codeOf(answer)).toEqual([status, status === 404 ? 'not_found' : 'malformed_url']);
  });

  it('takes the link in absolute form too (RFC 9112 §3.2.2)', async () => {
    const { link } = await one();
    expect((await ask(`${suite.api.url}${link}`)).status).toBe(200);
  });
});
