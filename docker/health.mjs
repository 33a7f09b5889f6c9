// Health check of a container: exit status 0 when the URL answers 2xx within 4 seconds.
const [url] = process.argv.slice(2);
// oxlint-disable-next-line no-restricted-globals -- a program of its own, which calls nothing but its own container
const answer = await fetch(url, { signal: AbortSignal.timeout(4_000) }).catch(() => null);
process.exit(answer?.ok === true ? 0 : 1);
