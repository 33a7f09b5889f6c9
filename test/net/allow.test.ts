import { describe, expect, it } from 'vitest';
import { assertProductionSafe, parseAllow } from '../../src/net/index.ts';
import { words } from './servers.ts';

function entries(count: number): string {
  return Array.from({ length: count }, (_, i) => `a:${i + 1}`).join(',');
}

describe('parseAllow', () => {
  it('reads host:port entries and spells hosts as URL.hostname does', () => {
    expect(parseAllow(' 127.0.0.1:9001, [::1]:9002,Sim.Example.com:8443 ,0x7f.1:1, ')).toEqual([
      { host: '127.0.0.1', port: 9001 },
      { host: '[::1]', port: 9002 },
      { host: 'sim.example.com', port: 8443 },
      { host: '127.0.0.1', port: 1 },
    ]);
    expect(parseAllow('')).toEqual([]);
  });

  it.each([
    'localhost',
    '*:80',
    '10.0.0.0/8:80',
    'http://a:80',
    'a:b',
    'a:80:81',
    '::1:80',
    'user@a:80',
    'a:123456',
  ])('names the bad entry %j', (entry) => {
    expect(() => parseAllow(`127.0.0.1:1,${entry}`)).toThrow(`NET_ALLOW entry "${entry}" is not host:port`);
  });

  it.each(['a:0', 'a:65536'])('refuses the port of %j', (entry) => {
    expect(() => parseAllow(entry)).toThrow(`NET_ALLOW entry "${entry}" has a port outside 1–65535`);
  });

  it('refuses a host that is no host', () => {
    expect(() => parseAllow('300.1.1.1:80')).toThrow('"300.1.1.1:80" has a host that is not valid');
  });

  it('is bounded', () => {
    expect(parseAllow(entries(64))).toHaveLength(64);
    expect(() => parseAllow(entries(65))).toThrow('NET_ALLOW has 65 entries, at most 64');
  });
});

describe('assertProductionSafe', () => {
  it.each(
    words(`
  127.0.0.1:1 10.0.0.1:443 169.254.169.254:80 [::1]:1 [::ffff:127.0.0.1]:1 2130706433:80
  localhost:1 LOCALHOST.:1 a.localhost:1 db.internal:1 nas.local:1 minio:9000`),
  )('refuses %s', (entry) => {
    expect(() => assertProductionSafe(parseAllow(`api.example.com:8443,${entry}`))).toThrow(
      /NET_ALLOW entry ".+" is a loopback, private or local host, which production refuses/,
    );
  });

  it('accepts public hosts', () => {
    expect(() => assertProductionSafe(parseAllow('api.example.com:8443,8.8.8.8:443'))).not.toThrow();
    expect(() => assertProductionSafe([])).not.toThrow();
  });
});
