import { createHmac, randomUUID } from 'node:crypto';
import { WEBHOOK_SECRET } from './api.ts';

/** One event of INFRO, unsigned. */
export function event(
  jobId: string,
  type = 'job.succeeded',
  id: string | undefined = `evt_${randomUUID()}`,
): string {
  return JSON.stringify({ id, type, data: { id: jobId } });
}

/** Its `INFRO-Signature` header. */
export function signature(
  body: string | Uint8Array,
  secret = WEBHOOK_SECRET,
  atSeconds: number | string = Math.floor(Date.now() / 1_000),
): string {
  const mac = createHmac('sha256', secret).update(`${atSeconds}.`).update(body).digest('hex');
  return `t=${atSeconds},v1=${mac}`;
}
