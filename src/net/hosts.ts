import { portOf } from './url.ts';

/**
 * True when the URL's host is on the list: exact (`cdn.example.com`), with a port (`127.0.0.1:9001`, that port only),
 * or `*.example.com` for every name below, not the name itself. A bare `*` matches nothing. 'any' is every host: what
 * may be called is then for the URL rules and the address guard alone.
 */
export function matchesHosts(url: URL, hosts: readonly string[] | 'any'): boolean {
  if (hosts === 'any') return true;
  return hosts.some((entry) => {
    const pattern = entry.toLowerCase();
    if (pattern.startsWith('*.')) return pattern.length > 2 && url.hostname.endsWith(pattern.slice(1));
    return pattern === url.hostname || pattern === `${url.hostname}:${portOf(url)}`;
  });
}
