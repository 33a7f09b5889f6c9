import { request as httpRequest } from 'node:http';
import { json } from 'node:stream/consumers';
import type { Db } from '../../src/db/index.ts';
import { accept, observe, send as sendToProvider, store } from '../db/fixtures.ts';
import { finish } from '../db/finish.ts';
import { send, type Answer, type Sent } from './client.ts';
import type { TestTenant } from './tenants.ts';

export const WISH = { model: 'infro-video', prompt: 'A lighthouse in a storm' };

export interface VideoError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string;
}

/** Status, code and field of an error of `/v1/videos`; anything else in its body fails the test by its text. */
export function errorOf(answer: Answer): [number, string, string | null] {
  const { error, ...more } = answer.json() as { error: VideoError };
  if (Object.keys(more).length > 0 || answer.headers['content-type'] !== 'application/json') {
    throw new Error(`not an error of /v1/videos: ${answer.text}`);
  }
  return [answer.status, error.code, error.param];
}

export function messageOf(answer: Answer): string {
  return (answer.json() as { error: VideoError }).error.message;
}

export function idOf(answer: Answer): string {
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json()['id'] as string;
}

/** `POST /v1/videos` as JSON; without an Idempotency-Key unless the headers have one. */
export function createVideo(
  url: string,
  tenant: Pick<TestTenant, 'key'>,
  body: unknown = WISH,
  headers: Sent['headers'] = {},
): Promise<Answer> {
  return send(url, {
    method: 'POST',
    path: '/v1/videos',
    headers: { Authorization: `Bearer ${tenant.key}`, 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** A part of a form: its text, or a file with a name. */
export type Part = readonly [name: string, value: string | Uint8Array];

/** The bytes of a form and what its Content-Type is. */
export function formOf(parts: readonly Part[], boundary = 'b-o-u-n-d'): { type: string; bytes: Buffer } {
  const bytes = parts.flatMap(([name, value]) => {
    const file = typeof value === 'string' ? '' : '; filename="image.png"\r\nContent-Type: image/png';
    return [
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`),
      Buffer.from(value),
      Buffer.from('\r\n'),
    ];
  });
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    bytes: Buffer.concat([...bytes, Buffer.from(`--${boundary}--\r\n`)]),
  };
}

/** `POST /v1/videos` as a form. */
export function sendForm(
  url: string,
  tenant: Pick<TestTenant, 'key'>,
  parts: readonly Part[],
  headers: Sent['headers'] = {},
): Promise<Answer> {
  const { type, bytes } = formOf(parts);
  return createBytes(url, tenant, type, bytes, headers);
}

export function createBytes(
  url: string,
  tenant: Pick<TestTenant, 'key'>,
  type: string,
  body: Uint8Array,
  headers: Sent['headers'] = {},
): Promise<Answer> {
  return send(url, {
    method: 'POST',
    path: '/v1/videos',
    headers: { Authorization: `Bearer ${tenant.key}`, 'Content-Type': type, ...headers },
    body,
  });
}

export function del(url: string, tenant: Pick<TestTenant, 'key'>, id: string): Promise<Answer> {
  return send(url, {
    method: 'DELETE',
    path: `/v1/videos/${id}`,
    headers: { Authorization: `Bearer ${tenant.key}` },
  });
}

/** A form without its last bytes, over a connection that is cut then. */
export function cutForm(
  url: string,
  tenant: TestTenant,
  parts: readonly Part[],
  missing: number,
): Promise<void> {
  const form = formOf(parts);
  return new Promise((resolve) => {
    const outgoing = httpRequest({
      port: new URL(url).port,
      method: 'POST',
      path: '/v1/videos',
      headers: {
        Authorization: `Bearer ${tenant.key}`,
        'Content-Type': form.type,
        'Content-Length': String(form.bytes.length),
      },
    });
    outgoing.on('error', () => {});
    outgoing.on('close', () => resolve());
    outgoing.write(form.bytes.subarray(0, -missing), () => {
      setTimeout(() => outgoing.destroy(), 50);
    });
  });
}

/** A form whose body comes only after `between`, which begins once the request is being read. @returns the answer's JSON */
export function sendSlowly(
  url: string,
  tenant: TestTenant,
  parts: readonly Part[],
  between: () => Promise<void>,
): Promise<unknown> {
  const { type, bytes } = formOf(parts);
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(`${url}/v1/videos`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${tenant.key}`,
        'Content-Type': type,
        'Content-Length': String(bytes.length),
        Expect: '100-continue',
      },
    });
    outgoing.on('continue', () => {
      between().then(() => outgoing.end(bytes), reject);
    });
    outgoing.on('response', (response) => {
      json(response).then(resolve, reject);
    });
    outgoing.on('error', reject);
    outgoing.flushHeaders();
  });
}

export function cancel(url: string, tenant: Pick<TestTenant, 'key'>, id: string): Promise<Answer> {
  return send(url, {
    method: 'POST',
    path: `/v1/generations/${id}/cancel`,
    headers: { Authorization: `Bearer ${tenant.key}` },
  });
}

/** Changes rows past the guards that hold what a program may not change, as time or another version would. */
export async function asReplica(db: Db, change: string, ...values: readonly unknown[]): Promise<void> {
  await db.prisma.$transaction(
    async (transaction) => {
      await transaction.$executeRaw`SET LOCAL session_replication_role = replica`;
      await transaction.$executeRawUnsafe(change, ...values);
    },
    // Prisma's own five seconds are less than a machine may stand still.
    { maxWait: 120_000, timeout: 120_000 },
  );
}

/** A provider has the video's job. */
export async function running(db: Db, id: string): Promise<void> {
  await sendToProvider(db, id);
  await accept(db, id);
}

/** Brings a video to its end with a row of a stored file, which no storage has. */
export async function complete(db: Db, id: string): Promise<void> {
  await running(db, id);
  await observe(db, id, 'succeeded');
  await store(db, id);
  await finish(db, id);
}
