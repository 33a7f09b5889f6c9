import { describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../src/net/index.ts';
import { words } from './servers.ts';

const DENIED = words(`
  0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.0 127.0.0.1
  127.255.255.255 169.254.0.0 169.254.169.254 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0
  192.0.0.255 192.0.2.0 192.0.2.255 192.88.99.0 192.88.99.255 192.168.0.0 192.168.255.255
  198.18.0.0 198.19.255.255 198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255 224.0.0.0
  239.255.255.255 240.0.0.0 255.255.255.254 255.255.255.255 :: ::1 ::ffff:127.0.0.1 ::ffff:7f00:1
  ::ffff:a9fe:a9fe ::ffff:10.0.0.1 0:0:0:0:0:ffff:c0a8:0101 ::127.0.0.1 ::7f00:1 ::8.8.8.8
  ::ffff:0:8.8.8.8 fe80:: fe80::1 febf:ffff::1 fe80::1%eth0 fc00:: fdff:ffff::1 ff00:: ff02::1
  2001:db8:: 2001:db8:ffff::1 3fff:: 3fff:fff::1 100:: 100::ffff:ffff:ffff:ffff 64:ff9b::7f00:1
  64:ff9b::8.8.8.8 64:ff9b::a9fe:a9fe 64:ff9b:1:: 64:ff9b:1:ffff::8.8.8.8 2002:: 2002:7f00:1::
  2002:808:808::1 2001:: 2001:0:ffff::1 5f00:: 5f00:ffff::1`);

const PUBLIC = words(`
  1.1.1.1 8.8.8.8 100.63.255.254 100.128.0.1 9.255.255.255 11.0.0.0 126.255.255.255 128.0.0.1
  169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 198.17.255.255
  198.20.0.0 223.255.255.255 2606:4700:4700::1111 2001:4860:4860::8888 64:ff9c::1 ::ffff:8.8.8.8
  ::ffff:808:808`);

const NOT_CANONICAL = [
  '',
  'localhost',
  '127.1',
  '2130706433',
  '0x7f.1',
  '8.8.8.8 ',
  '[::1]',
  '8.8.8.8/32',
  '08.8.8.8',
];

describe('isPublicAddress', () => {
  it.each(DENIED)('SSRF-1: %s is refused', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each(PUBLIC)('SSRF-1: %s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each(NOT_CANONICAL)('%j is no canonical address and refused', (text) => {
    expect(isPublicAddress(text)).toBe(false);
  });
});
