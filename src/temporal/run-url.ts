/**
 * Where operators see the run of a generation in the Temporal UI.
 * @param base - the UI's address (`TEMPORAL_UI_URL`), without a slash at its end; null = nobody said where it is
 */
export function createRunUrl(
  base: string | null,
  namespace: string,
): (generationId: string) => string | null {
  return (generationId) =>
    base === null
      ? null
      : `${base}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(generationId)}`;
}
