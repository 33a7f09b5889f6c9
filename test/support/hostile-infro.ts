import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a provider does that repeats secrets wherever it can. */
export interface HostileInfro {
  readonly url: string;
  /** The headers of each request to its API, in order. */
  readonly headers: IncomingMessage['headers'][];
  close(): Promise<void>;
}

export interface HostileOptions {
  /** INFRO's simulator, which does the work. */
  readonly simulator: string;
  /** The key that this one wants; the simulator has `sim-key`. */
  readonly apiKey: string;
  /** Stands behind each output's URL as `?key=`. */
  readonly outputQuery: string;
  /** Submits whose prompt has this are refused. */
  readonly refuses: string;
}

/** Words of an error that quote the credential, and a URL with it. */
const quoting = (authorization: string) =>
  JSON.stringify({
    error: {
      type: 'invalid_request_error',
      code: 'invalid_input',
      message: `Authorization: ${authorization} was used at https://internal.example/jobs?key=${authorization}`,
    },
  });

/**
 * Passes everything on to the simulator, but the first look at each job fails with words that quote our Authorization
 * header, some submits are refused with them, and outputs lie behind URLs with a secret.
 */
export async function startHostileInfro(options: HostileOptions): Promise<HostileInfro> {
  const headers: IncomingMessage['headers'][] = [];
  const looked = new Set<string>();
  let url = '';
  const server = createServer((request, response) => {
    const { method = '', url: path = '' } = request;
    const authorization = request.headers.authorization ?? '';
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks);
      if (!path.startsWith('/files/')) headers.push(request.headers);
      const isLook = method === 'GET' && /^\/v1\/jobs\/[^/]+$/.test(path);
      if (isLook && !looked.has(path)) {
        looked.add(path);
        response.writeHead(500, { 'content-type': 'application/json' }).end(quoting(authorization));
        return;
      }
      if (method === 'POST' && body.includes(options.refuses)) {
        response.writeHead(422, { 'content-type': 'application/json' }).end(quoting(authorization));
        return;
      }
      const known = authorization === `Bearer ${options.apiKey}`;
      const sent = Object.entries(request.headers).filter(
        ([name]) => !['host', 'connection', 'content-length', 'transfer-encoding'].includes(name),
      ) as [string, string][];
      const answer = await fetch(options.simulator + path.replace(/\?key=.*$/, ''), {
        method,
        headers: { ...Object.fromEntries(sent), ...(known ? { authorization: 'Bearer sim-key' } : {}) },
        ...(method === 'POST' ? { body } : {}),
      });
      const bytes = Buffer.from(await answer.arrayBuffer());
      const type = answer.headers.get('content-type') ?? '';
      const own = type.includes('json')
        ? Buffer.from(
            bytes
              .toString('utf8')
              .replaceAll(options.simulator, url)
              .replaceAll(/(\/files\/[^"?]+)"/g, `$1?key=${options.outputQuery}"`),
          )
        : bytes;
      response.writeHead(answer.status, { 'content-type': type, 'content-length': own.length }).end(own);
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    headers,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
