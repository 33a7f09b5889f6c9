import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OutboundHttp } from '../../src/net/index.ts';
import type { ProviderFixture } from './fixture.ts';
import { malformedBodies } from './malformed-bodies.ts';
import { httpTo, ScriptedServer } from './scripted-server.ts';

const NOW_MS = Date.UTC(2026, 10, 29, 12);
const NOW = NOW_MS / 1_000;

const WRONG_TIMES = [
  NOW - 301,
  NOW + 301,
  NOW + 600,
  NOW_MS,
  0,
  -1,
  `${NOW}.5`,
  `${NOW}abc`,
  `${NOW} `,
  `+${NOW}`,
  'abc',
  '',
  '1e400',
  '1e9',
  '0x6929',
  '9'.repeat(20),
];

type Headers = Readonly<Record<string, string | undefined>>;
type Signed = Extract<NonNullable<ProviderFixture['callbacks']>, { readonly kind: 'signed' }>;

/** Signed callbacks, verified over the raw bytes: right ones, and every wrong form (reliability.md 2.4, cases.md B). */
export function signedContract(fixture: ProviderFixture, callbacks: Signed): void {
  const { secret, sign, body: bodyOf, verdict, forgeries, wrongKeyForms } = callbacks;
  const { timestamped, manySignatures, keySet, configured = [] } = callbacks;
  const body = Buffer.from(bodyOf(fixture.jobId));
  const unverified = { ok: false, reason: 'unverified' };
  const malformed = { ok: false, reason: 'malformed' };
  let server: ScriptedServer;
  let http: OutboundHttp;

  beforeAll(async () => {
    server = await ScriptedServer.start();
    http = httpTo(server.url);
  });
  afterAll(async () => {
    await http.close();
    await server.close();
  });
  const verify = async (
    headers: Headers,
    raw: Buffer = body,
    secrets: readonly string[] = [secret],
    nowMs = NOW_MS,
  ) => {
    // A new adapter each time: it may keep the keys that it fetched.
    if (keySet !== undefined) server.answer = keySet(secrets);
    const provider = fixture.create(http, server.url, () => nowMs);
    return provider.verifyCallback(headers, raw, keySet === undefined ? secrets : configured, nowMs);
  };
  const good = (raw: Buffer = body, t: string | number = NOW) => sign(raw, [secret], t);

  test('a good one tells job, event, type', async () => {
    expect(await verify(good())).toEqual({ ok: true, jobId: fixture.jobId, ...verdict });
  });

  test.each(timestamped ? [-300, -299, 0, 299, 300] : [])('B2 time offset %i s verifies', async (offset) => {
    expect(await verify(good(body, NOW + offset))).toMatchObject({ ok: true });
  });

  test.each(timestamped ? WRONG_TIMES : [])('WHI-3 signed timestamp %s is refused', async (t) => {
    expect(await verify(good(body, t))).toEqual(unverified);
  });

  test('the timestamp is signed as it was sent, and a clock that is not a number refuses', async () => {
    if (!timestamped) return;
    expect(await verify(good(body, `00${NOW}`))).toMatchObject({ ok: true });
    expect(await verify(good(), body, [secret], Number.NaN)).toEqual(unverified);
  });

  test('WHI-1 no, empty, foreign signature', async () => {
    const emptied = Object.fromEntries(Object.keys(good()).map((name) => [name, '']));
    expect(await verify({})).toEqual(unverified);
    expect(await verify(emptied)).toEqual(unverified);
    expect(await verify(sign(body, ['another secret'], NOW))).toEqual(unverified);
  });

  test('B4 never without a secret, never with an empty one', async () => {
    expect(await verify(good(), body, [])).toEqual(unverified);
    for (const empty of keySet === undefined ? ['', ' ', '\t'] : []) {
      expect(await verify(sign(body, [empty], NOW), body, [empty])).toEqual(unverified);
      expect(await verify(good(), body, [empty, secret])).toMatchObject({ ok: true });
    }
  });

  test.each(wrongKeyForms.map((key) => [key]))('B8 wrong key form %s', async (key) => {
    expect(await verify(sign(body, [key], NOW))).toEqual(unverified);
  });

  test.each(forgeries.map(([name, forge]) => ({ name, forge })))(
    'forged headers: $name',
    async ({ forge }) => {
      expect(await verify(forge(good()))).toEqual(unverified);
    },
  );

  test('T10 rotation: any active secret verifies, an old one does not', async () => {
    expect(await verify(good(), body, ['old', secret])).toMatchObject({ ok: true });
    expect(await verify(good(), body, [secret, 'new'])).toMatchObject({ ok: true });
    expect(await verify(sign(body, ['old'], NOW), body, [secret])).toEqual(unverified);
  });

  test('T10 WHI-5 the good signature in any position, last of sixteen too; ten thousand are refused', async () => {
    if (!manySignatures) return;
    expect(await verify(sign(body, ['old', secret], NOW))).toMatchObject({ ok: true });
    expect(await verify(sign(body, [secret, 'new'], NOW))).toMatchObject({ ok: true });
    const sixteen = [...Array<string>(15).fill('other'), secret];
    expect(await verify(sign(body, sixteen, NOW))).toMatchObject({ ok: true });
    const many = [...Array<string>(9_999).fill('other'), secret];
    expect(await verify(sign(body, many, NOW))).toEqual(unverified);
  });

  test('WHI-7 a changed body', async () => {
    const text = body.toString();
    const changed = [
      `${text} `,
      ` ${text}`,
      text.replace('{', '{\r\n'),
      text.replace(fixture.jobId, 'other_job'),
    ];
    for (const forged of changed) expect(await verify(good(), Buffer.from(forged))).toEqual(unverified);
    expect(await verify(good(Buffer.alloc(0)), Buffer.alloc(0))).toMatchObject({ ok: false });
  });

  test.each([
    ['escapes', '"a":"\\u001B[0m"'],
    ['escaped markup and odd numbers', '"p":"\\u003cb\\u003e","n":1.0,"e":1E2'],
    ['emoji', '"t":"😊 é"'],
    ['long number', '"n":12345678901234567890'],
    ['infinite number', '"n":1e400'],
    ['duplicate keys', '"k":1,"k":2'],
    ['__proto__', '"__proto__":{"ok":true},"constructor":{"prototype":{"polluted":1}}'],
  ])('B1 the raw bytes count: %s', async (_name, members) => {
    const raw = Buffer.from(bodyOf(fixture.jobId).replace('{', `{${members},`));
    expect(await verify(good(raw), raw)).toMatchObject({ ok: true, jobId: fixture.jobId });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    const flipped = Buffer.from(raw);
    flipped[1]! ^= 1;
    expect(await verify(good(raw), flipped)).toEqual(unverified);
  });

  test('B1 a newline at the end', async () => {
    const raw = Buffer.from(`${bodyOf(fixture.jobId)}\n`);
    expect(await verify(good(raw), raw)).toMatchObject({ ok: true });
  });

  describe('WHI-8 WHI-11 verified, then no event', () => {
    test.each(malformedBodies(bodyOf, fixture.jobId))('%s', async (_name, raw) => {
      expect(await verify(good(raw), raw)).toEqual(malformed);
    });
  });
}
