const FORM = /^data:[^,;]{0,127}(?:;[^,;]{1,127}){0,8};base64,([A-Za-z0-9+/]*={0,2})$/i;

/** The bytes of a `data:` URL in base64; null for any other text. What they are is told by the bytes alone. */
export function dataUrlBytes(text: string): Uint8Array | null {
  const base64 = FORM.exec(text)?.[1];
  return base64 === undefined || base64.length % 4 !== 0 ? null : Buffer.from(base64, 'base64');
}
