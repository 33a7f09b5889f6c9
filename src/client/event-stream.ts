/** One server-sent event. */
export interface StreamEvent {
  readonly id: string | null;
  readonly type: string;
  readonly data: string;
}

const MAX_LINE_LENGTH = 1_000_000;

/**
 * Reads `text/event-stream` (WHATWG HTML §9.2). `onBytes` is told of anything that arrives, comments too.
 * @throws what the stream throws, and on a line without end
 */
export async function* readEventStream(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<StreamEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let id: string | null = null;
  let type = '';
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      rest += decoder.decode(value, { stream: true });
      // A CR at the end may be half of a CRLF.
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? '';
      if (rest.length > MAX_LINE_LENGTH) throw new Error('a line of the event stream has no end');
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { id, type: type === '' ? 'message' : type, data: data.join('\n') };
          type = '';
          data = [];
          continue;
        }
        const [, field = '', text = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
        if (field === 'data') data.push(text);
        else if (field === 'event') type = text;
        else if (field === 'id' && !text.includes('\0')) id = text;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
