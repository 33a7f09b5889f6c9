import { createHmac, randomUUID } from 'node:crypto';
import type { AppDependencies } from '../../src/api/app.ts';
import { makeCallbackToken } from '../../src/domain/keyring.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { createProviders } from '../../src/providers/index.ts';
import { accept, create, newTenant, send as claim } from '../db/fixtures.ts';
import type { TestDb } from '../db/database.ts';
import { signedHeaders, USER_ID } from '../providers/fal-keys.ts';
import { testKeyring } from './api.ts';
import { send, type Answer, type Sent } from './client.ts';

type Headers = NonNullable<Sent['headers']>;

/** How one provider's callbacks are made, apart from the code that verifies them. */
export interface Sender {
  readonly provider: string;
  /** A right secret (fal: the name of a key pair), and one more. */
  readonly secret: string;
  readonly other: string;
  readonly body: (jobId: string, state: 'running' | 'succeeded' | 'failed', eventId?: string) => string;
  /** Headers signed with these secrets, for a time in unix seconds or any text in its place. */
  readonly sign: (
    body: string | Uint8Array,
    secrets: readonly string[],
    t: number | string,
    eventId: string,
  ) => Headers;
  /** The header that holds the signature, and all that are signed. */
  readonly signature: string;
  readonly signed: readonly string[];
  /** An old and a new signature in one header, as during a rotation. */
  readonly rotates: boolean;
}

const seconds = () => Math.floor(Date.now() / 1_000);
const bytes = (body: string | Uint8Array) => Buffer.from(body);

const infro: Sender = {
  provider: 'infro',
  secret: 'whsec_testsecrettestsecrettestsecret',
  other: 'whsec_othersecretothersecretothersec',
  body: (id, state, eventId = `evt_${randomUUID()}`) =>
    JSON.stringify({
      id: eventId,
      type: state === 'running' ? 'job.processing' : `job.${state}`,
      data: { id },
    }),
  sign: (body, secrets, t) => ({
    'infro-signature': [
      `t=${t}`,
      ...secrets.map(
        (secret) => `v1=${createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')}`,
      ),
    ].join(','),
  }),
  signature: 'infro-signature',
  signed: ['infro-signature'],
  rotates: true,
};

const whsec = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`;
const replicate: Sender = {
  provider: 'replicate',
  secret: whsec(1),
  other: whsec(2),
  body: (id, state) =>
    JSON.stringify({ id, status: state === 'running' ? 'processing' : state, output: null }),
  sign: (body, secrets, t, id) => ({
    'webhook-id': id,
    'webhook-timestamp': `${t}`,
    'webhook-signature': secrets
      .map((secret) => createHmac('sha256', Buffer.from(secret.replace('whsec_', ''), 'base64')))
      .map((hmac) => `v1,${hmac.update(`${id}.${t}.`).update(body).digest('base64')}`)
      .join(' '),
  }),
  signature: 'webhook-signature',
  signed: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  rotates: true,
};

const requestIdIn = (body: string | Uint8Array) =>
  /"request_id":"([^"]{1,255})"/.exec(bytes(body).toString())?.[1] ?? 'none';
const fal: Sender = {
  provider: 'fal',
  secret: 'right',
  other: 'other',
  body: (id, state) =>
    JSON.stringify({
      request_id: id,
      status: state === 'running' ? 'IN_PROGRESS' : state === 'failed' ? 'ERROR' : 'OK',
    }),
  sign: (body, [name = ''], t) => signedHeaders(bytes(body), name, t, { requestId: requestIdIn(body) }),
  signature: 'x-fal-webhook-signature',
  signed: ['request-id', 'user-id', 'timestamp', 'signature'].map((end) => `x-fal-webhook-${end}`),
  rotates: false,
};

/** Those that sign, and whose callbacks carry a time. */
export const SENDERS: readonly Sender[] = [infro, replicate, fal];

/** The real adapters as the API has them; fal's keys are asked for at `keysUrl`. */
export function callbackProviders(http: OutboundHttp, keysUrl: string): AppDependencies['providers'] {
  const adapters = createProviders({
    http,
    providers: new Map([
      ['infro', {}],
      ['replicate', {}],
      ['fal', { settings: { USER_ID, JWKS_URL: `${keysUrl}/keys` } }],
      ['kling', {}],
      ['minimax', {}],
    ]),
  });
  const secrets: Readonly<Record<string, readonly string[] | null>> = {
    infro: [infro.secret],
    replicate: [replicate.secret],
  };
  return new Map(
    [...adapters].map(([name, provider]) => [
      name,
      { provider, credentialName: 'default', webhookSecrets: secrets[name] ?? null },
    ]),
  );
}

export interface Submitted {
  readonly generationId: string;
  readonly submissionId: string;
  readonly jobId: string;
  /** Of our own URL, with the token. */
  readonly path: string;
}

/** A generation whose job this provider has, or whose submit is under way (`jobId: null`). */
export async function submitted(
  database: TestDb,
  provider: string,
  { jobId = `job-${randomUUID()}` }: { readonly jobId?: string | null } = {},
): Promise<Submitted> {
  const generationId = await create(database.db, await newTenant(database.db));
  const id = submissionId(generationId, 1);
  await claim(database.db, generationId, { provider, credential: 'default' });
  if (jobId !== null) await accept(database.db, generationId, jobId);
  const { token } = makeCallbackToken(testKeyring(), id);
  return { generationId, submissionId: id, jobId: jobId ?? '', path: `/callbacks/${provider}/${token}` };
}

/** Sends these bytes as the provider would, signed now with its right secret; `headers` replace or add. */
export function tell(
  url: string,
  sender: Sender,
  path: string,
  body: string | Uint8Array,
  {
    headers = {},
    secrets = [sender.secret],
    t = seconds(),
    eventId = `msg_${randomUUID()}`,
  }: {
    readonly headers?: Headers;
    readonly secrets?: readonly string[];
    readonly t?: number | string;
    readonly eventId?: string;
  } = {},
): Promise<Answer> {
  const signed = sender.sign(body, secrets, t, eventId);
  return send(url, {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json', ...signed, ...headers },
    body,
  });
}

/** The inbox of one submission, oldest first. */
export function inbox(database: TestDb, { submissionId: id }: Submitted) {
  return database.db.prisma.callback.findMany({ where: { submissionId: id }, orderBy: { id: 'asc' } });
}
