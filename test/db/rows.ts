import type { Db } from '../../src/db/index.ts';
import { requestCancel } from '../../src/db/index.ts';
import { accept, answer, create, drop, newTenant, observe, send, sold, store } from './fixtures.ts';

/** Every shape that the rows of an open generation can have when it is asked to settle. */
export const ROWS = [
  'none',
  'prepared',
  'sending',
  'unknown',
  'accepted',
  'ended',
  'storing',
  'half_stored',
  'stored',
  'partial',
  'lost',
  'invalid',
  'lost_and_invalid',
  'gone',
] as const;
export type Row = (typeof ROWS)[number];

export interface RowOptions {
  /** A cancel was asked at the first moment at which it can only be flagged. */
  readonly flagged: boolean;
  /** The deadline is past. */
  readonly overdue: boolean;
}

/** Of one output; each of the rows was sold with two. */
export const OUTPUT_PRICE = 51;
export const ROW_PRICE = 2 * OUTPUT_PRICE;
export const OPEN_ROWS: ReadonlySet<Row> = new Set([
  'none',
  'prepared',
  'sending',
  'unknown',
  'accepted',
  'ended',
]);

/** Brings a new generation into this shape, by the functions only; its id and its tenant. */
export async function makeRow(
  db: Db,
  row: Row,
  options: RowOptions,
): Promise<{ id: string; tenantId: string }> {
  const tenant = await newTenant(db);
  const id = await create(db, tenant, {
    ...sold(2, OUTPUT_PRICE),
    deadlineSeconds: options.overdue ? 0 : 900,
  });
  const made = { id, tenantId: tenant.id };
  if (row === 'none' && !options.flagged) return made;
  const fence = await send(db, id);
  if (options.flagged) await requestCancel(db, { generationId: id, tenantId: tenant.id, actor: 'tenant' });
  switch (row) {
    case 'sending':
      break;
    case 'none':
      await answer(db, id, fence, 'refused');
      break;
    case 'prepared':
      await answer(db, id, fence, 'capacity');
      break;
    case 'unknown':
      await answer(db, id, fence, 'unknown');
      break;
    default:
      await accept(db, id);
      await finishJob(db, id, row);
  }
  return made;
}

async function finishJob(db: Db, id: string, row: Row): Promise<void> {
  if (row === 'accepted') return;
  if (row === 'ended') {
    await observe(db, id, 'failed');
    return;
  }
  await observe(db, id, 'succeeded', { outputCount: row === 'gone' ? 0 : 2 });
  if (row === 'half_stored' || row === 'stored' || row === 'partial') await store(db, id, { index: 0 });
  if (row === 'stored') await store(db, id, { index: 1 });
  if (row === 'partial') await drop(db, id, 1, 'lost');
  if (row === 'lost' || row === 'lost_and_invalid') await drop(db, id, 0, 'lost');
  if (row === 'lost') await drop(db, id, 1, 'lost');
  if (row === 'invalid') await drop(db, id, 0, 'invalid');
  if (row === 'invalid' || row === 'lost_and_invalid') await drop(db, id, 1, 'invalid');
}
