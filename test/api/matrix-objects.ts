import { randomUUID } from 'node:crypto';
import { makeCallbackToken } from '../../src/domain/keyring.ts';
import { newId } from '../../src/domain/ids.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { testKeyring } from './api.ts';
import { linkOf, signedLink, storedInput, succeeded, type FileSuite } from './files.ts';
import { get, grant, newTenant, sendJson, type TestTenant } from './tenants.ts';

/** One of everything that a tenant can have, by the name of the path parameter that stands for it. */
export interface Belongings {
  readonly tenant: TestTenant;
  readonly generation: string;
  readonly input: string;
  readonly endpoint: string;
  readonly delivery: string;
  readonly account: string;
  readonly outputLink: string;
  readonly inputLink: string;
}

const SCOPES = ['generations', 'credits:grant', 'webhooks'] as const;

/** A tenant that has one of everything; its generation has ended, so that every route has something to do with it. */
export async function everything(suite: FileSuite): Promise<Belongings> {
  const tenant = await newTenant(suite.db, { scopes: SCOPES });
  const account = `user-${randomUUID()}`;
  await grant(suite.db, tenant.id, account, 5);
  const created = await sendJson(suite.api.url, tenant.key, {
    path: '/v1/webhook-endpoints',
    headers: { 'Idempotency-Key': randomUUID() },
    body: { url: 'https://example.com/hooks' },
  });
  const generation = await succeeded(suite, tenant);
  const input = await storedInput(suite, tenant);
  const deliveries = (await get(suite.api.url, tenant, '/v1/webhook-deliveries')).json();
  return {
    tenant,
    generation,
    input,
    account,
    endpoint: created.json()['id'] as string,
    delivery: (deliveries['data'] as { id: string }[])[0]!.id,
    outputLink: await linkOf(suite.api.url, tenant, generation),
    inputLink: signedLink(suite, tenant, { kind: 'input', inputId: input }),
  };
}

/** A kind of object that a path names: those of a tenant, one that never was, and what can't be one. */
export interface Kind {
  /** The code of the answer to whoever does not have it. */
  readonly code: string;
  readonly of: (belongings: Belongings) => string;
  readonly unknown: string;
}

const GENERATION: Kind = {
  code: 'generation_not_found',
  of: ({ generation }) => generation,
  unknown: newId('gen'),
};

/** What stands at the first parameter of a path, by the beginning of the path. A new beginning needs its line here. */
export const TENANT_KINDS: Readonly<Record<string, Kind>> = {
  '/v1/generations/{id}': GENERATION,
  '/v1/videos/{id}': { ...GENERATION, code: 'video_not_found' },
  '/v1/inputs/{id}': { code: 'input_not_found', of: ({ input }) => input, unknown: newId('inp') },
  '/v1/webhook-endpoints/{endpoint}': {
    code: 'webhook_endpoint_not_found',
    of: ({ endpoint }) => endpoint,
    unknown: newId('whe'),
  },
  '/v1/webhook-deliveries/{delivery}': {
    code: 'webhook_delivery_not_found',
    of: ({ delivery }) => delivery,
    unknown: 'whd_999999999',
  },
  '/v1/accounts/{account}': {
    code: 'account_not_found',
    of: ({ account }) => account,
    unknown: 'nobody',
  },
};

/** The same for operators, who see all tenants. */
export const OPERATOR_KINDS: Readonly<Record<string, Kind>> = {
  '/admin/v1/generations/{id}': GENERATION,
  '/admin/v1/tenants/{id}': {
    code: 'tenant_not_found',
    of: ({ tenant }) => tenant.id,
    unknown: newId('ten'),
  },
  '/admin/v1/keys/{id}': {
    code: 'api_key_not_found',
    of: ({ tenant }) => tenant.keyId,
    unknown: '0'.repeat(16),
  },
  '/admin/v1/webhook-deliveries/{delivery}': {
    code: 'webhook_delivery_not_found',
    of: ({ delivery }) => delivery,
    unknown: 'whd_999999999',
  },
  '/admin/v1/providers/{provider}': {
    code: 'provider_not_found',
    of: () => 'infro',
    unknown: 'nobody',
  },
};

/** Further parameters, behind the first: something that is there. */
export const INNER: Readonly<Record<string, string>> = { n: '0' };

const NO_LIMITS = {
  generations_in_flight: null,
  credits_per_day: null,
  requests_per_minute: null,
  cancels_per_day: null,
};

/** What each route that takes a body is sent; null = it takes none. A new route needs its line here. */
export const BODIES: Readonly<Record<string, object | null>> = {
  'post /v1/generations/{id}/cancel': null,
  'post /v1/accounts/{account}/grants': { credits: 1 },
  'patch /v1/webhook-endpoints/{endpoint}': { description: 'changed' },
  'post /v1/webhook-endpoints/{endpoint}/rotate': {},
  'post /v1/webhook-endpoints/{endpoint}/test': null,
  'post /v1/webhook-endpoints/{endpoint}/redeliver': { since: '2026-01-01T00:00:00Z' },
  'post /v1/webhook-deliveries/{delivery}/redeliver': null,
  'post /admin/v1/generations/{id}/refunds': { reason: 'matrix', credits: 1 },
  'post /admin/v1/generations/{id}/resolution': { state: 'failed', reason: 'matrix' },
  'post /admin/v1/generations/{id}/wake': { reason: 'matrix' },
  'post /admin/v1/generations/{id}/observe': { reason: 'matrix' },
  'post /admin/v1/generations/{id}/retry-storing': { reason: 'matrix' },
  'post /admin/v1/generations/{id}/attach-job': { reason: 'matrix', job_id: 'job-of-the-matrix' },
  'post /admin/v1/generations/{id}/not-accepted': { reason: 'matrix' },
  'post /admin/v1/generations/{id}/cancel': { reason: 'matrix' },
  'post /admin/v1/generations/{id}/redeliver': { reason: 'matrix' },
  'post /admin/v1/webhook-deliveries/{delivery}/redeliver': { reason: 'matrix' },
  'put /admin/v1/tenants/{id}/limits': { scope: 'tenant', ...NO_LIMITS, reason: 'matrix' },
  'put /admin/v1/providers/{provider}/budget': { amount_per_day: null, reason: 'matrix' },
};

/** Whoever grants to a name makes the account: a name of another tenant is a new account of one's own. */
export const MAKES_ITS_OBJECT: ReadonlySet<string> = new Set(['post /v1/accounts/{account}/grants']);

/** Routes that are proved by something in their address, with what opens nothing and must all be answered alike. */
export const PROVED: Readonly<
  Record<string, (mine: Belongings, theirs: Belongings) => { own: string; refused: readonly string[] }>
> = {
  'get /files/outputs/{generation}/{index}': (mine, theirs) => {
    const query = mine.outputLink.slice(mine.outputLink.indexOf('?'));
    const ids = [
      theirs.generation,
      GENERATION.unknown,
      'gen_short',
      'x'.repeat(500),
      mine.generation.toUpperCase(),
    ];
    return {
      own: mine.outputLink,
      refused: [
        ...ids.map((id) => `/files/outputs/${id}/0${query}`),
        `/files/outputs/${mine.generation}/1${query}`,
      ],
    };
  },
  'get /files/inputs/{input}': (mine, theirs) => {
    const query = mine.inputLink.slice(mine.inputLink.indexOf('?'));
    const ids = [theirs.input, newId('inp'), 'inp_short', 'x'.repeat(500), mine.generation];
    return { own: mine.inputLink, refused: ids.map((id) => `/files/inputs/${id}${query}`) };
  },
  'post /callbacks/{provider}/{token}': (mine, theirs) => {
    const tokenOf = (generation: string) =>
      makeCallbackToken(testKeyring(), submissionId(generation, 1)).token;
    const [own, other] = [tokenOf(mine.generation), tokenOf(theirs.generation)];
    const mac = own.slice(own.indexOf('.'));
    const unknown = `${submissionId(GENERATION.unknown, 1)}${mac}`;
    const refused = [
      `${other.slice(0, other.indexOf('.'))}${mac}`,
      unknown,
      `${own}x`,
      'x',
      'x'.repeat(500),
      '%00',
    ];
    return {
      own: `/callbacks/infro/${own}`,
      refused: refused.map((token) => `/callbacks/infro/${token}`),
    };
  },
};

/** Parameters that name nothing of a tenant. */
export const NO_OBJECT: ReadonlySet<string> = new Set(['post /callbacks/{provider}']);
