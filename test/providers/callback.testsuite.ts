import { beforeAll, describe, expect, test } from 'vitest';
import type { Provider } from '../../src/domain/provider.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import type { ProviderFixture } from './fixture.ts';

const NOW_MS = Date.UTC(2026, 10, 29, 12);
const NOW = NOW_MS / 1_000;

/** Callback verification over raw bytes: right ones, and every wrong form (reliability.md 2.4, cases.md B). */
export function callbackContract(fixture: ProviderFixture): void {
  const { header, secret, sign, body: bodyOf, type, forgeries, wrongKeyForms } = fixture.callbacks;
  const body = Buffer.from(bodyOf('job_19'));
  const unverified = { ok: false, reason: 'unverified' };
  const malformed = { ok: false, reason: 'malformed' };
  let provider: Provider;

  beforeAll(() => {
    provider = fixture.create(createOutboundHttp({ allow: [] }), 'https://api.example');
  });
  const verify = (
    value: string | undefined,
    raw: Buffer = body,
    secrets: readonly string[] = [secret],
    nowMs = NOW_MS,
  ) => provider.verifyCallback({ [header]: value }, raw, secrets, nowMs);
  const good = (raw: Buffer = body, t: string | number = NOW) => sign(raw, [secret], t);

  test('a good one tells job, event, type', () => {
    expect(verify(good())).toEqual({
      ok: true,
      jobId: 'job_19',
      eventId: 'evt_1',
      type,
      terminal: true,
      progress: null,
    });
  });

  test.each([-300, -299, 0, 299, 300])('B2 time offset %i s verifies', (offset) => {
    expect(verify(good(body, NOW + offset))).toMatchObject({ ok: true });
  });

  test.each([
    [NOW - 301],
    [NOW + 301],
    [NOW + 600],
    [NOW_MS],
    [0],
    [-1],
    [`${NOW}.5`],
    [`${NOW}abc`],
    [`${NOW} `],
    [`+${NOW}`],
    ['abc'],
    [''],
    ['1e400'],
    ['1e9'],
    ['0x6929'],
    ['9'.repeat(20)],
  ])('WHI-3 signed timestamp %s is refused', (t) => {
    expect(verify(good(body, t))).toEqual(unverified);
  });

  test('the timestamp is signed as it was sent', () => {
    expect(verify(good(body, `00${NOW}`))).toMatchObject({ ok: true });
  });

  test('WHI-1 no, empty, foreign signature', () => {
    expect(verify(undefined)).toEqual(unverified);
    expect(verify('')).toEqual(unverified);
    expect(verify(sign(body, ['another secret'], NOW))).toEqual(unverified);
    expect(provider.verifyCallback({}, body, [secret], NOW_MS)).toEqual(unverified);
  });

  test('B4 never without a secret, never with an empty one', () => {
    expect(verify(good(), body, [])).toEqual(unverified);
    for (const empty of ['', ' ', '\t']) {
      expect(verify(sign(body, [empty], NOW), body, [empty])).toEqual(unverified);
    }
    expect(verify(good(), body, ['', secret])).toMatchObject({ ok: true });
  });

  test.each(wrongKeyForms.map((key) => [key]))('B8 wrong key form %s', (key) => {
    expect(verify(sign(body, [key], NOW))).toEqual(unverified);
  });

  test.each(forgeries.map(([name, forge]) => ({ name, forge })))('forged header: $name', ({ forge }) => {
    expect(verify(forge(good()))).toEqual(unverified);
  });

  test('T10 rotation: any active secret, any position', () => {
    expect(verify(sign(body, ['old', secret], NOW))).toMatchObject({ ok: true });
    expect(verify(sign(body, [secret, 'new'], NOW))).toMatchObject({ ok: true });
    expect(verify(good(), body, ['old', secret])).toMatchObject({ ok: true });
    expect(verify(sign(body, ['old'], NOW), body, [secret])).toEqual(unverified);
  });

  test('WHI-5 the good one last of sixteen verifies; ten thousand are refused fast', () => {
    expect(verify(sign(body, [...Array<string>(15).fill('other'), secret], NOW))).toMatchObject({ ok: true });
    const huge = `${good()}${`,v1=${'0'.repeat(64)}`.repeat(10_000)}`;
    const start = performance.now();
    expect(verify(huge)).toEqual(unverified);
    expect(performance.now() - start).toBeLessThan(50);
  });

  test('WHI-7 a changed body', () => {
    const text = body.toString();
    for (const changed of [
      `${text} `,
      ` ${text}`,
      text.replace('{', '{\r\n'),
      text.replace('job_19', 'job_18'),
    ]) {
      expect(verify(good(), Buffer.from(changed))).toEqual(unverified);
    }
    expect(verify(good(Buffer.alloc(0)), Buffer.alloc(0))).toEqual(malformed);
  });

  test.each([
    ['escapes', '"a":"\\u001B[0m"'],
    ['escaped markup and odd numbers', '"p":"\\u003cb\\u003e","n":1.0,"e":1E2'],
    ['emoji', '"t":"😊 é"'],
    ['long number', '"n":12345678901234567890'],
    ['infinite number', '"n":1e400'],
    ['duplicate keys', '"k":1,"k":2'],
    ['__proto__', '"__proto__":{"ok":true},"constructor":{"prototype":{"polluted":1}}'],
  ])('B1 the raw bytes count: %s', (_name, members) => {
    const raw = Buffer.from(bodyOf('job_19').replace('{', `{${members},`));
    expect(verify(good(raw), raw)).toMatchObject({ ok: true, jobId: 'job_19' });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    const flipped = Buffer.from(raw);
    flipped[1]! ^= 1;
    expect(verify(good(raw), flipped)).toEqual(unverified);
  });

  test('B1 a newline at the end', () => {
    const raw = Buffer.from(`${bodyOf('job_19')}\n`);
    expect(verify(good(raw), raw)).toMatchObject({ ok: true });
  });

  describe('WHI-8 WHI-11 verified, then no event', () => {
    test.each([
      ['no JSON', Buffer.from('payload=%7B%7D')],
      ['not UTF-8', Buffer.from(bodyOf('job_19').replace('{', '{"t":"\u00ff",'), 'latin1')],
      ['UTF-16', Buffer.from(bodyOf('job_19'), 'utf16le')],
      ['byte order mark', Buffer.from(`\ufeff${bodyOf('job_19')}`)],
      ['a list', Buffer.from(`[${bodyOf('job_19')}]`)],
      ['null', Buffer.from('null')],
      ['nested 50,000 deep', Buffer.from('['.repeat(50_000) + ']'.repeat(50_000))],
      ['NUL in the id', Buffer.from(bodyOf('job\\u0000'))],
      ['lone surrogate in the id', Buffer.from(bodyOf('job\\ud800'))],
      ['dots as id', Buffer.from(bodyOf('..'))],
      ['endless id', Buffer.from(bodyOf('j'.repeat(256)))],
    ])('%s', (_name, raw) => {
      expect(verify(good(raw), raw)).toEqual(malformed);
    });
  });

  test('a clock that is not a number refuses', () => {
    expect(verify(good(), body, [secret], Number.NaN)).toEqual(unverified);
  });
}
