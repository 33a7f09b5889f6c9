import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** INFRO's API before its simulator, where an account may have several keys. */
export interface KeyedInfro {
  readonly url: string;
  /** The simulator behind it; to be set before the first request. */
  simulator: string;
  /** Keys that it takes; any other one gets 401. */
  keys: readonly string[];
  /** Each request to the API, with the key that came with it. */
  readonly seen: { readonly method: string; readonly path: string; readonly key: string }[];
  close(): Promise<void>;
}

export async function startKeyedInfro(keys: readonly string[]): Promise<KeyedInfro> {
  const server = createServer((request, response) => {
    const { method = '', url: path = '', headers } = request;
    const key = (headers.authorization ?? '').replace(/^Bearer /, '');
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      infro.seen.push({ method, path, key });
      const sent = Object.entries(headers).filter(
        ([name]) => !['host', 'connection', 'content-length', 'transfer-encoding'].includes(name),
      ) as [string, string][];
      const answer = await fetch(infro.simulator + path, {
        method,
        headers: {
          ...Object.fromEntries(sent),
          authorization: infro.keys.includes(key) ? 'Bearer sim-key' : 'Bearer refused',
        },
        ...(method === 'POST' ? { body: Buffer.concat(chunks) } : {}),
      });
      const bytes = Buffer.from(await answer.arrayBuffer());
      const type = answer.headers.get('content-type') ?? '';
      response.writeHead(answer.status, { 'content-type': type, 'content-length': bytes.length }).end(bytes);
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const infro: KeyedInfro = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    simulator: '',
    keys,
    seen: [],
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
  return infro;
}
