/** Unicode code points, as JSON Schema counts `maxLength`; a lone surrogate counts as one. */
export function countCharacters(text: string): number {
  return text.replace(/[\ud800-\udbff][\udc00-\udfff]/g, '.').length;
}
