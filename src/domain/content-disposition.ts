const EXTENSIONS: Readonly<Record<string, string>> = {
  'audio/flac': 'flac',
  'audio/mp4': 'm4a',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'audio/wav': 'wav',
  'image/avif': 'avif',
  'image/gif': 'gif',
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
  'video/mp4': 'mp4',
  'video/quicktime': 'mov',
  'video/webm': 'webm',
};

/** Media that a browser only shows or plays; an SVG is a document that may hold scripts. */
const SHOWN = /^(?:image|video|audio)\/(?!svg\b)/i;

/** `Content-Disposition` (RFC 6266) of a file; its name is made from our own id, never from a provider's. */
export function contentDisposition(id: string, mediaType: string): string {
  const kind = SHOWN.test(mediaType) ? 'inline' : 'attachment';
  return `${kind}; filename="${id}.${EXTENSIONS[mediaType] ?? 'bin'}"`;
}
