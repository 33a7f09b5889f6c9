import { z } from 'zod';
import type { CallOptions, Provider } from '../domain/provider.ts';
import { unavailable, type JsonCall } from './json-api.ts';
import { parseJsonBytes } from './json-answer.ts';

/** One row for every model and method. */
const methodList = z.object({ items: z.array(z.object({ model: z.string(), method: z.string() })) });

type ListModels = NonNullable<Provider['listModels']>;

/**
 * The models of one upstream that offer this method: `GET /v1/methods?provider=` of the article; the shape of its answer
 * is that of the service's own code.
 */
export async function listAigenwayModels(
  call: JsonCall,
  { method, params }: Parameters<ListModels>[0],
  options: CallOptions,
): ReturnType<ListModels> {
  const { provider } = params;
  if (typeof provider !== 'string') return { kind: 'unavailable', reason: 'params.provider is missing' };
  const answer = await call('GET', `/v1/methods?${new URLSearchParams({ provider }).toString()}`, options);
  const list =
    answer.kind === 'answer' && answer.status === 200
      ? methodList.safeParse(parseJsonBytes(answer.body)).data
      : undefined;
  if (list === undefined) return { kind: 'unavailable', reason: unavailable(answer, Date.now()).reason };
  const offered = list.items.filter((item) => item.method === method.replaceAll('-', '_'));
  return { kind: 'models', models: [...new Set(offered.map(({ model }) => model))] };
}
