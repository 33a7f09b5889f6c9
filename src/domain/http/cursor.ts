/** The place of one row in the order (created_at, id), newest first. */
export interface Position {
  readonly createdAt: Date;
  readonly id: string;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Opaque to clients: base64url of both parts. */
export function encodeCursor(position: Position): string {
  return Buffer.from(`${position.createdAt.toISOString()},${position.id}`).toString('base64url');
}

/** The position, or null for a text that we did not make for a list whose ids have this form. */
export function decodeCursor(text: string, idForm: RegExp): Position | null {
  const [time = '', id = ''] = Buffer.from(text, 'base64url').toString('latin1').split(',');
  const createdAt = new Date(TIME.test(time) ? time : Number.NaN);
  if (Number.isNaN(createdAt.getTime()) || !idForm.test(id)) return null;
  return encodeCursor({ createdAt, id }) === text ? { createdAt, id } : null;
}
