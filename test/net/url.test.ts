import { describe, expect, it } from 'vitest';
import { checkUrl } from '../../src/net/index.ts';
import { words } from './servers.ts';

const ALLOW = [
  { host: '127.0.0.1', port: 9001 },
  { host: 'plain.example.com', port: 80 },
  { host: '[::1]', port: 9002 },
];

function problemOf(text: string): string | null {
  const checked = checkUrl(text, ALLOW);
  return checked.ok ? null : checked.problem;
}

describe('checkUrl', () => {
  it.each(
    words(`
  https://example.com/a?b=c https://example.com:443/ https://8.8.8.8/ https://[2606:4700::1]/
  https://[::ffff:8.8.8.8]/ http://127.0.0.1:9001/x https://127.0.0.1:9001/
  http://2130706433:9001/ http://plain.example.com/ http://[::1]:9002/ https://example.com./
  https://bücher.example/`),
  )('accepts %s', (text) => {
    expect(problemOf(text)).toBeNull();
  });

  it.each(
    words(`
  https://2130706433/ https://0x7f000001/ https://0177.0.0.1/ https://127.1/ https://0x7f.1/
  https://①②⑦.⓪.⓪.①/ https:127.0.0.1 https://127.0.0.1./ https://localhost./ https://LOCALHOST/
  https://a.localhost/ https://127.0.0.%31/ https://%6docalhost.localhost/ https://0/
  https://[::ffff:169.254.169.254]/ https://[::ffff:a9fe:a9fe]/ https://[::]/ https://[::1]/
  https://[64:ff9b::a9fe:a9fe]/ https://[::127.0.0.1]/ https://100.64.0.1/
  https://169.254.169.254/`),
  )('SSRF-2: %s names a local address', (text) => {
    expect(problemOf(text)).toBe('address');
  });

  it.each([
    ['\thttps://example.com/', 'malformed'],
    ['https://example.com/\n', 'malformed'],
    ['https://exam\tple.com/', 'malformed'],
    ['https://example.com\\@127.0.0.1/', 'malformed'],
    ['https://example.com\u0000/', 'malformed'],
    ['//example.com/', 'malformed'],
    ['', 'malformed'],
    ['https://', 'malformed'],
    ['https://user:pass@example.com/', 'credentials'],
    ['https://user@example.com/', 'credentials'],
    ['https://example.com@127.0.0.1/', 'credentials'],
    ['https://example.com/#x', 'fragment'],
    ['https://example.com:0/', 'port'],
    ...['22', '25', '80', '5432', '7233', '8233', '8443', '9001'].map((port) => [
      `https://example.com:${port}/`,
      'port',
    ]),
    ['http://example.com/', 'scheme'],
    ['http://127.0.0.1:9002/', 'scheme'],
    ['https://127.0.0.1:9002/', 'port'],
    ['file:///etc/passwd', 'scheme'],
    ['data:text/plain,x', 'scheme'],
    ['javascript:1', 'scheme'],
    ['ftp://example.com/', 'scheme'],
    [`https://example.com/${'x'.repeat(8192)}`, 'too_long'],
  ])('SSRF-5: %j is refused as %s', (text, problem) => {
    expect(problemOf(text)).toBe(problem);
  });

  it('returns the parsed URL', () => {
    expect(checkUrl('https://EXAMPLE.com/a b', [])).toMatchObject({
      ok: true,
      url: { href: 'https://example.com/a%20b' },
    });
  });
});
