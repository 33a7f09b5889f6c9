import createApi, { type Client } from 'openapi-fetch';
import { downloadOutput, type Download } from './download.ts';
import { DarkroomError } from './errors.ts';
import { retryAfterMs, retryingFetch } from './retrying-fetch.ts';
import type { paths } from './schema.ts';
import type { CreateGeneration, Generation, Input, Quote } from './types.ts';
import { waitForEnd, type WaitOptions } from './wait.ts';

export interface ClientOptions {
  /** Where the API is, for example `https://darkroom.example.com`. */
  readonly baseUrl: string;
  /** `dk_…`; for servers only. */
  readonly apiKey?: string;
  /** For a browser: opens the one generation whose `Watch-Token` it is, for `get` and `wait`; show `outputs[].url`. */
  readonly watchToken?: string;
  /** Tries after the first. Default 4. */
  readonly maxRetries?: number;
  /** Until the headers of one answer, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
  /** The same of an upload, whose file travels first. Default 300,000, as long as the API waits for it. */
  readonly uploadTimeoutMs?: number;
  /** The first pause between tries, in milliseconds. Default 500. */
  readonly retryDelayMs?: number;
  /** In place of the global one. */
  readonly fetch?: typeof fetch;
}

export interface Created {
  readonly generation: Generation;
  /** Give it to the browser that may watch this generation; null when its time is past. */
  readonly watchToken: string | null;
  /** The key it was created under: use it to send the same request again. */
  readonly idempotencyKey: string;
}

interface Keyed {
  /** One for each intent; made when left out. The same key never creates twice. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

export interface DarkroomClient {
  /** Creates a generation; its automatic retries keep one key. @throws DarkroomError, ConnectionError (with the key) */
  create(request: CreateGeneration, options?: Keyed): Promise<Created>;
  get(id: string, options?: { readonly signal?: AbortSignal }): Promise<Generation>;
  /** Resolves when it has ended, whatever its state. @throws WaitTimeoutError, which carries the id */
  wait(id: string, options?: WaitOptions): Promise<Generation>;
  /** What the generation is after the wish to cancel; `cancellation.outcome` tells what comes of it. */
  cancel(id: string): Promise<Generation>;
  /** One output, by a fresh link. */
  download(
    id: string,
    options?: { readonly index?: number; readonly signal?: AbortSignal },
  ): Promise<Download>;
  /** Stores a file to work from; use its id in place of a URL. */
  upload(file: Uint8Array | Blob, options?: Keyed): Promise<Input>;
  quote(request: Pick<CreateGeneration, 'model' | 'input'>): Promise<Quote>;
  /** Every route, typed. */
  readonly api: Client<paths>;
}

/** A client of one Darkroom. It has no state but its options. */
export function createClient(options: ClientOptions): DarkroomClient {
  const { apiKey, watchToken, maxRetries = 4, retryDelayMs = 500 } = options;
  const { timeoutMs = 30_000, uploadTimeoutMs = 300_000 } = options;
  const baseUrl = options.baseUrl.replace(/\/+$/, '');
  const plain = options.fetch ?? ((input, init) => fetch(input, init));
  const auth: Record<string, string> = apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` };
  const sending = { fetch: plain, maxRetries, retryDelayMs };
  const send = retryingFetch({ ...sending, timeoutMs });
  const sendFile = retryingFetch({ ...sending, timeoutMs: uploadTimeoutMs });
  const api = createApi<paths>({
    baseUrl,
    headers: auth,
    fetch: (request) => send(watchToken === undefined ? request : watching(request, watchToken)),
  });

  const read = async (id: string, signal?: AbortSignal) =>
    answered(
      await api.GET('/v1/generations/{id}', {
        params: { path: { id } },
        ...(signal === undefined ? {} : { signal }),
      }),
    );
  const get = async (id: string, signal?: AbortSignal) => (await read(id, signal)).data;

  return {
    api,
    get: (id, { signal } = {}) => get(id, signal),
    async create(request, { idempotencyKey = crypto.randomUUID(), signal } = {}) {
      const { data, response } = answered(
        await api.POST('/v1/generations', {
          params: { header: { 'Idempotency-Key': idempotencyKey } },
          body: request,
          ...(signal === undefined ? {} : { signal }),
        }),
      );
      return { generation: data, watchToken: response.headers.get('watch-token'), idempotencyKey };
    },
    wait(id, waitOptions) {
      const open = async (lastEventId: string | null, signal: AbortSignal): Promise<Response | null> => {
        const url = new URL(`${baseUrl}/v1/generations/${encodeURIComponent(id)}/events`);
        if (lastEventId !== null) url.searchParams.set('last_event_id', lastEventId);
        if (watchToken !== undefined) url.searchParams.set('watch_token', watchToken);
        const response = await plain(url.href, { headers: auth, signal });
        const stream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
        if (response.ok && stream) return response;
        await response.body?.cancel();
        return null;
      };
      return waitForEnd(
        id,
        {
          open,
          async read(signal) {
            const { data, response } = await read(id, signal);
            return { generation: data, againInMs: retryAfterMs(response) ?? 2_000 };
          },
        },
        waitOptions,
      );
    },
    async cancel(id) {
      const result = await api.POST('/v1/generations/{id}/cancel', { params: { path: { id } } });
      return answered(result).data;
    },
    async download(id, { index = 0, signal } = {}) {
      const way = { baseUrl, fetch: plain, signal };
      const file = await downloadOutput(await get(id, signal), index, way);
      if (file !== null) return file;
      // The link had expired between the two calls; the next one is fresh.
      const again = await downloadOutput(await get(id, signal), index, way);
      if (again === null)
        throw new DarkroomError(403, { code: 'link_invalid', detail: 'The link was refused.' }, null);
      return again;
    },
    async upload(file, { idempotencyKey = crypto.randomUUID(), signal } = {}) {
      const result = await api.POST('/v1/inputs', {
        params: { header: { 'Idempotency-Key': idempotencyKey } },
        body: file as never,
        bodySerializer: (body: unknown) => body as string,
        fetch: sendFile,
        headers: { 'Content-Type': 'application/octet-stream' },
        ...(signal === undefined ? {} : { signal }),
      });
      return answered(result).data;
    },
    async quote({ model, input }) {
      return answered(await api.POST('/v1/quotes', { body: { model, input } })).data;
    },
  };
}

function watching(request: Request, token: string): Request {
  const url = new URL(request.url);
  url.searchParams.set('watch_token', token);
  return new Request(url, request);
}

/** @throws DarkroomError for every answer but the documented success */
function answered<T>(result: { data?: T; error?: unknown; response: Response }): {
  data: T;
  response: Response;
} {
  const { data, error, response } = result;
  if (response.ok && data !== undefined) return { data, response };
  const problem = typeof error === 'object' && error !== null ? error : {};
  throw new DarkroomError(
    response.status,
    problem as Record<string, unknown>,
    response.headers.get('x-request-id'),
  );
}
