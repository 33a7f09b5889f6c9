import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/**
 * Sends these bytes over a connection of their own, all at once, and leaves its side open: it is over when the server ends it.
 * @returns the answers in the order of the wire
 */
export function exchange(baseUrl: string, bytes: string): Promise<RawAnswer[]> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(baseUrl);
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(bytes));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => {
      try {
        resolve(answersIn(Buffer.concat(chunks).toString('latin1')));
      } catch (error) {
        reject(error);
      }
    });
  });
}

/** Cuts what a server sent into its answers, by their lengths; throws on bytes that belong to none. */
function answersIn(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let rest = text; rest !== '';) {
    const headEnd = rest.indexOf('\r\n\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(rest)?.[1]);
    if (headEnd === -1 || Number.isNaN(status)) throw new Error(`no answer: ${rest.slice(0, 200)}`);
    const head = rest.slice(0, headEnd);
    const bodyAt = headEnd + 4;
    // Without a length, to HTTP/1.0, it lasts until the end.
    const untilEnd = status === 100 ? 0 : rest.length - bodyAt;
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? untilEnd);
    answers.push({ status, head, body: rest.slice(bodyAt, bodyAt + length) });
    rest = rest.slice(bodyAt + length);
  }
  return answers;
}
