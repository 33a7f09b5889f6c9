import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * True when the address (canonical IPv4 or IPv6 text) may be contacted: globally routable unicast, by the table of
 * reliability.md §3.2. IPv4-mapped IPv6 is judged as its IPv4 address; every other form that carries an IPv4 address
 * (compatible, NAT64, 6to4, Teredo) is refused, whatever it carries. Text that is no address is refused.
 */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  // ipaddr.js also reads `127.1` or `0x7f.1`, and a zone (`%eth0`) never belongs to a public address.
  if (version === 0 || address.includes('%')) return false;
  if (version === 4) return isUnicast(ipaddr.IPv4.parse(address));
  // Through URL to the hexadecimal form: ipaddr.js takes the dotted `::8.8.8.8` for `::ffff:8.8.8.8`.
  const parsed = ipaddr.IPv6.parse(new URL(`http://[${address}]/`).hostname.slice(1, -1));
  if (isMapped(parsed)) return isUnicast(parsed.toIPv4Address());
  return isUnicast(parsed) && !isCompatible(parsed);
}

/** The library's ranges: everything reserved in the table of §3.2, and a few more (AS112, AMT, ORCHID). */
function isUnicast(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address.range() === 'unicast';
}

/** `::ffff:a.b.c.d`, which the system connects to as a.b.c.d. */
function isMapped(address: ipaddr.IPv6): boolean {
  return address.parts[5] === 0xffff && address.parts.slice(0, 5).every((part) => part === 0);
}

/** `::/96`, the deprecated `::a.b.c.d`; also `::` and `::1`. */
function isCompatible(address: ipaddr.IPv6): boolean {
  return address.parts.slice(0, 6).every((part) => part === 0);
}
