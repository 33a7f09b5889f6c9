import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OPERATIONS, faultsOf, type Documented } from './documented.ts';
import { broken, parameters, valid } from './fuzz-data.ts';
import { send, type Answer } from './client.ts';
import { brokenForm, validForm, type FuzzBody } from './fuzz-forms.ts';
import { useFiles } from './inputs.ts';
import { useApi } from './suite.ts';
import { newTenant } from './tenants.ts';

/** Another one: FUZZ_SEED=… npx vitest run test/api/fuzz.test.ts */
const SEED = Number(process.env['FUZZ_SEED'] ?? 20261130);
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 5);

const room = useFiles();
const suite = useApi(room.parts);

interface Called {
  readonly path: Record<string, string>;
  readonly query: Record<string, string>;
  readonly header: Record<string, string>;
  readonly body: string | Uint8Array | undefined;
  readonly mediaType: string | undefined;
}

/** Requests to this operation with a body of this media type of its document; undefined = it takes none. */
function calls(
  { operation }: Documented,
  documented: string | undefined,
  how: 'valid' | 'broken',
): fc.Arbitrary<Called> {
  return fc
    .record({
      path: parameters(operation, 'path'),
      query: parameters(operation, 'query'),
      header: parameters(operation, 'header'),
      sent: bodies(operation, documented, how),
    })
    .map(({ sent, ...called }) => ({ ...called, body: sent?.bytes, mediaType: sent?.mediaType }));
}

function bodies(
  { requestBody }: Documented['operation'],
  mediaType: string | undefined,
  how: 'valid' | 'broken',
): fc.Arbitrary<FuzzBody | undefined> {
  const content = mediaType === undefined ? undefined : requestBody?.content[mediaType];
  if (mediaType === undefined || content === undefined) return fc.constant(undefined);
  switch (mediaType) {
    case 'application/json':
      return (how === 'valid' ? valid : broken)(content.schema).map((value) => ({
        mediaType,
        bytes: JSON.stringify(value),
      }));
    case 'multipart/form-data':
      return (how === 'valid' ? validForm : brokenForm)(content.schema);
    default:
      return fc
        .uint8Array({ minLength: 1, maxLength: 40 })
        .map((bytes) => ({ mediaType: mediaType === '*/*' ? 'application/json' : mediaType, bytes }));
  }
}

async function call(
  { method, path, operation }: Documented,
  called: Called,
  keys: Record<string, string>,
): Promise<Answer> {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(called.path[name]!));
  const query = new URLSearchParams(called.query).toString();
  const scope = operation.security[0]?.['apiKey']?.[0];
  return send(suite.api.url, {
    method: method.toUpperCase(),
    path: query === '' ? filled : `${filled}?${query}`,
    headers: {
      ...called.header,
      ...(scope === undefined ? {} : { Authorization: `Bearer ${keys[scope] ?? keys['generations']}` }),
      ...(called.mediaType === undefined ? {} : { 'Content-Type': called.mediaType }),
    },
    ...(called.body === undefined ? {} : { body: called.body }),
  });
}

/** The promises of every answer, whatever was asked. */
function assertDocumented({ operation }: Documented, answer: Answer): void {
  expect(answer.status, answer.text).toBeLessThan(500);
  const response = operation.responses[String(answer.status)];
  expect(response, `${answer.status} is not documented: ${answer.text}`).toBeDefined();
  expect(answer.headers['x-request-id']).toBeDefined();
  const [mediaType = ''] = (answer.headers['content-type'] ?? '').split(';');
  const content = response?.content ?? {};
  if (answer.text === '') return;
  expect([...Object.keys(content), ...('*/*' in content ? [mediaType] : [])]).toContain(mediaType);
  if (!mediaType.endsWith('json')) return;
  expect(faultsOf(content[mediaType]!.schema, answer.json())).toEqual([]);
  if (mediaType === 'application/problem+json') expect(answer.json()['status']).toBe(answer.status);
}

async function keysOf(): Promise<Record<string, string>> {
  const scopes = ['generations', 'credits:grant', 'webhooks'] as const;
  const { key } = await newTenant(suite.db, { credits: 1_000_000, scopes });
  return { generations: key, 'credits:grant': key, webhooks: key, admin: suite.operator.key };
}

type Case = readonly [name: string, documented: Documented, mediaType: string | undefined];

/** Every operation with every kind of body that it takes. */
const named = OPERATIONS.flatMap((documented): readonly Case[] => {
  const { method, path, operation } = documented;
  const mediaTypes = Object.keys(operation.requestBody?.content ?? {});
  if (mediaTypes.length === 0) return [[`${method} ${path}`, documented, undefined]];
  return mediaTypes.map((mediaType) => [`${method} ${path} (${mediaType})`, documented, mediaType]);
});
/** A form can be wrong in more ways than JSON. */
const runsOf = (mediaType: string | undefined) => (mediaType === 'multipart/form-data' ? 6 * RUNS : RUNS);
const STRUCTURED = new Set(['application/json', 'multipart/form-data']);
const structured = named.filter(([, , mediaType]) => STRUCTURED.has(mediaType ?? ''));

describe(`requests of chance, seed ${SEED}`, () => {
  it.each(named)('%s takes what its document allows', async (_name, documented, mediaType) => {
    const keys = await keysOf();
    await fc.assert(
      fc.asyncProperty(calls(documented, mediaType, 'valid'), async (called) => {
        const answer = await call(documented, called, keys);
        assertDocumented(documented, answer);
        expect(answer.status, answer.text).not.toBe(400);
      }),
      { seed: SEED, numRuns: RUNS },
    );
  });

  it.each(structured)(
    '%s refuses a body that its document does not allow',
    async (_name, documented, mediaType) => {
      const keys = await keysOf();
      await fc.assert(
        fc.asyncProperty(calls(documented, mediaType, 'broken'), async (called) => {
          const answer = await call(documented, called, keys);
          assertDocumented(documented, answer);
          expect(answer.status, answer.text).toBe(400);
        }),
        { seed: SEED, numRuns: runsOf(mediaType) },
      );
    },
  );
});
