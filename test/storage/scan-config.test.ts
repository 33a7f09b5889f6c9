import { describe, expect, it } from 'vitest';
import { ConfigError, loadApiConfig, loadWorkerConfig } from '../../src/config.ts';

const KEY = Buffer.alloc(32, 1).toString('base64');
const MINIMAL = { DATABASE_URL: 'postgresql://u:p@h/d', KEYRING: `k1:${KEY}` };

function problems(env: Record<string, string>): readonly string[] {
  try {
    loadApiConfig({ ...MINIMAL, ...env });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('the scanner in the configuration', () => {
  it.each([
    [{}, null],
    [{ SCAN_COMMAND: 'clamdscan -' }, { kind: 'command', command: ['clamdscan', '-'], timeoutMs: 60_000 }],
    [
      { SCAN_URL: 'http://127.0.0.1:9000/scan?token=1', SCAN_TIMEOUT_SECONDS: '3600' },
      { kind: 'url', url: 'http://127.0.0.1:9000/scan?token=1', timeoutMs: 3_600_000 },
    ],
  ] as const)('%j', (env, expected) => {
    expect(loadApiConfig({ ...MINIMAL, ...env }).scan).toEqual(expected);
    expect(loadWorkerConfig({ ...MINIMAL, ...env }).scan).toEqual(expected);
  });

  it.each([
    [{ SCAN_COMMAND: '' }, 'SCAN_COMMAND names no program: write for example clamdscan'],
    [{ SCAN_COMMAND: '["a"' }, 'SCAN_COMMAND is not a JSON array of texts'],
    [{ SCAN_URL: 'ftp://hidden' }, 'SCAN_URL must be an http(s) URL, for example'],
    [{ SCAN_URL: 'http://user:hidden@host/' }, 'SCAN_URL must have no user:password@'],
    [{ SCAN_TIMEOUT_SECONDS: '0' }, 'SCAN_TIMEOUT_SECONDS must be whole seconds from 1 to 3600'],
    [{ SCAN_TIMEOUT_SECONDS: '3601' }, 'SCAN_TIMEOUT_SECONDS must be whole seconds from 1 to 3600'],
    [{ SCAN_TIMEOUT_SECONDS: '1.5' }, 'SCAN_TIMEOUT_SECONDS must be whole seconds from 1 to 3600'],
    [
      { SCAN_COMMAND: 'clamdscan -', SCAN_URL: 'http://hidden/' },
      'SCAN_URL and SCAN_COMMAND are both set: remove one',
    ],
  ])('refuses %j', (env, message) => {
    expect(problems(env)).toEqual([expect.stringContaining(message)]);
    expect(problems(env).join()).not.toContain('hidden');
  });
});
