import { closeServer, createApiServer, listen } from '../api/server.ts';
import type { Exposition } from '../metrics/index.ts';

export interface MetricsServer {
  readonly port: number;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  /** Plain text unless told. */
  readonly type?: string;
}

/**
 * Serves `GET /metrics` of the worker, and `GET /healthz` for supervisors: 200 while it polls all its queues, else 503.
 * @param address - port 0 = any free one
 * @param isPolling - asked at each look
 * @throws with what to set when the address is taken or not ours
 */
export async function startMetricsServer(
  { contentType, render }: Exposition,
  address: { readonly host: string; readonly port: number },
  isPolling: () => boolean = () => true,
): Promise<MetricsServer> {
  const answerTo = async (method: string, path: string): Promise<Answer> => {
    if (path !== '/metrics' && path !== '/healthz')
      return { status: 404, text: 'Ask for /metrics or /healthz.\n' };
    if (method !== 'GET' && method !== 'HEAD') return { status: 405, text: 'Use GET.\n' };
    if (path === '/healthz')
      return isPolling() ? { status: 200, text: 'ok\n' } : { status: 503, text: 'Not polling its queues.\n' };
    try {
      return { status: 200, text: await render(), type: contentType };
    } catch {
      return { status: 500, text: 'The metrics could not be made.\n' };
    }
  };
  const server = createApiServer((request, response) => {
    const { method = '', url = '' } = request;
    void answerTo(method, url.replace(/\?.*/s, '')).then(({ status, text, type = 'text/plain' }) => {
      const headers = { 'Content-Type': type };
      response.writeHead(status, status === 405 ? { ...headers, Allow: 'GET, HEAD' } : headers);
      return response.end(method === 'HEAD' ? '' : text);
    });
  });
  const { host, port } = address;
  const bound = await listen(server, port, host).catch((error: unknown) => {
    const why = `The metrics can't be served on ${host}:${port}: set another METRICS_PORT, or remove it.`;
    throw new Error(why, { cause: error });
  });
  return { port: bound, close: () => closeServer(server, 1_000) };
}
