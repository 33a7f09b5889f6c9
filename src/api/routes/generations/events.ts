import { z } from 'zod';
import { followGeneration, type Followed } from '../../../services/follow-generation.ts';
import { eventFrame, HEARTBEAT, STREAM_HEADERS, writeFrames } from '../../event-stream.ts';
import { Problem } from '../../problems.ts';
import type { ApiContext, Reply, TenantCall, TenantRoute } from '../../route.ts';
import { generationNotFound, generationParams } from './parts.ts';

/** Below the idle time of usual proxies (60 s). */
const HEARTBEAT_MS = 15_000;
const BUSY_RETRY_SECONDS = '5';
const EVENT_REF = '#/components/schemas/GenerationEvent';
const NUMBER = /^(?:0|[1-9]\d{0,9})$/;

/** One event as a reader of the stream has it; the text of `data` is JSON of its own schema. */
const frameSchema = z.object({
  id: z.string().meta({ description: 'Number of the event within the generation.', example: '1' }),
  event: z
    .enum(['created', 'stage', 'progress', 'cancellation', 'terminal', 'snapshot'])
    .meta({ description: 'What it tells.' }),
  data: z.string().meta({
    description: 'One line of JSON: a `GenerationEvent`.',
    override: { contentMediaType: 'application/json', contentSchema: { $ref: EVENT_REF } },
  }),
});

const lastEventId = z.string().optional();

export const followGenerationRoute: TenantRoute = {
  method: 'get',
  path: '/v1/generations/{id}/events',
  auth: 'generations',
  watch: true,
  problems: ['generation_not_found', 'malformed_url', 'busy'],
  describe: () => ({
    operationId: 'followGeneration',
    summary: 'Follow a generation',
    description:
      'Server-sent events: `created`, `stage`, `progress`, `cancellation` and, last of all, `terminal`, after which the stream ends. ' +
      '`id` is the number of the event within the generation. All come from the first on, or what follows `Last-Event-ID`, so that a ' +
      'client that connects again misses none and gets none twice. If that number is not ours, or its events are kept no longer, it first ' +
      'gets a `snapshot`, which stands for all up to its `id`. A stream that ends without `terminal` was cut: connect again. A comment ' +
      'comes after 15 s without an event. Closing it cancels nothing. In a page: `new EventSource(url)`, with `?watch_token=` in the URL.',
    tags: ['Generations'],
    requestParams: {
      path: generationParams,
      query: z.object({
        last_event_id: lastEventId.meta({
          description: 'As `Last-Event-ID`, for pages that can not set it; the header comes first.',
        }),
      }),
      header: z.object({
        'Last-Event-ID': lastEventId.meta({
          description: '`id` of the last event that you have; a browser sends it by itself.',
        }),
      }),
    },
    responses: {
      '200': {
        description: 'The events; each `data` is one line of JSON.',
        content: {
          'text/event-stream': {
            schema: frameSchema,
            example:
              'retry: 2000\n\nid: 1\nevent: created\ndata: {"generation":"gen_06f1m4k2h8v7x9q3w5y1z0a2b4",' +
              '"at":"2026-11-29T12:00:00.000Z","state":"queued","stage":"queued"}\n\n',
          },
        },
      },
      '204': { description: 'It has ended, and you have its last event: do not connect again.' },
    },
  }),
  handle: (ctx) => (call) => followEvents(ctx, call),
};

async function followEvents(ctx: ApiContext, call: TenantCall): Promise<Reply> {
  const followed = await followGeneration(ctx, {
    tenantId: call.tenantId,
    id: call.params['id']!,
    after: lastNumber(call),
    quietMs: HEARTBEAT_MS,
    signal: call.signal,
    draining: ctx.draining,
  });
  switch (followed.outcome) {
    case 'not_found':
      throw generationNotFound();
    case 'busy':
      throw new Problem('busy', 'Too many follow generations now: poll this one, or try again soon.', {
        headers: { 'Retry-After': BUSY_RETRY_SECONDS },
      });
    case 'over':
      return { status: 204 };
    case 'following':
      return {
        status: 200,
        headers: STREAM_HEADERS,
        contentType: 'text/event-stream',
        stream: (response) => writeFrames(response, framesOf(followed.events)),
      };
  }
}

async function* framesOf(events: AsyncIterable<Followed>): AsyncGenerator<string> {
  for await (const event of events) yield event.kind === 'quiet' ? HEARTBEAT : eventFrame(event);
}

/** The header is newer than the address, which a browser keeps when it connects again. */
function lastNumber({ request, query }: TenantCall): number | 'lost' | null {
  const given = request.headers['last-event-id'] ?? query['last_event_id'];
  if (given === undefined || given === '') return null;
  return typeof given === 'string' && NUMBER.test(given) ? Number(given) : 'lost';
}
