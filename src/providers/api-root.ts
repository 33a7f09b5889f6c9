/**
 * The origin and prefix of a provider's API, without a slash or `/v1` at its end.
 * @throws with the variable to set when it is no http(s) URL
 */
export function apiRoot(provider: string, baseUrl: string, example: string): { root: URL; prefix: string } {
  const text = baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    const variable = `PROVIDER_${provider.toUpperCase()}_BASE_URL`;
    throw new Error(`${provider} base URL is not an http(s) URL: set ${variable}, e.g. ${example}`);
  }
  const root = new URL(text);
  return { root, prefix: root.href.replace(/\/$/, '') };
}
