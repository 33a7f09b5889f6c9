import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON; throws when it is none. */
  json(): Record<string, unknown>;
}

export interface Sent {
  readonly method?: string;
  readonly path: string;
  /** An array sends one header line per element. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Uint8Array;
  /** Cuts the connection after this time. */
  readonly abortAfterMs?: number;
}

/** One request over its own connection, with exactly these bytes and header lines. */
export function send(
  baseUrl: string,
  { method = 'GET', path, headers = {}, body, abortAfterMs }: Sent,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const url = new URL(baseUrl);
    const outgoing = httpRequest(
      { host: url.hostname, port: url.port, method, path, headers, agent: false, timeout: 30_000 },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: () => JSON.parse(text) as Record<string, unknown>,
          });
        });
      },
    );
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer within 10 s')));
    outgoing.on('error', reject);
    if (abortAfterMs === undefined) {
      outgoing.end(body);
      return;
    }
    outgoing.write(body ?? '');
    setTimeout(() => outgoing.destroy(new Error('cut by the test')), abortAfterMs);
  });
}
