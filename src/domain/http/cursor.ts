/** The place of one row in the order (created_at, id), newest first. */
export interface Position {
  readonly createdAt: Date;
  readonly id: string;
}

const FORM = /^(0|[1-9]\d{0,12})\.(.+)$/s;

/** Opaque to clients: milliseconds since 1970 and the id. Every text of this form is a place, so a pattern can tell it. */
export function encodeCursor({ createdAt, id }: Position): string {
  return `${createdAt.getTime()}.${id}`;
}

/** The position, or null for a text that is none of a list whose ids have this form. */
export function decodeCursor(text: string, idForm: RegExp): Position | null {
  const [, time, id = ''] = FORM.exec(text) ?? [];
  return time !== undefined && idForm.test(id) ? { createdAt: new Date(Number(time)), id } : null;
}

/** The cursors of a list whose ids have this form (`^…$`), as a pattern for the API document. */
export function cursorPattern(idForm: RegExp): string {
  return `^(?:0|[1-9][0-9]{0,12})\\.(?:${idForm.source.replace(/^\^|\$$/g, '')})$`;
}
