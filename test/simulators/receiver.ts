import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/** A receiver of callbacks; `answer` decides per delivery, 200 by default. */
export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  answer: (delivery: number) => number | { readonly status: number; readonly location: string } | 'never';
  /** The body of an answer that is a bare status, by the body that came; empty by default. */
  reply: (body: Buffer) => string;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const headers = request.headers as Record<string, string | undefined>;
      received.push({ path: request.url ?? '', headers, body: Buffer.concat(chunks) });
      const answer = receiver.answer(received.length);
      if (answer === 'never') return;
      if (typeof answer === 'number') response.writeHead(answer).end(receiver.reply(received.at(-1)!.body));
      else response.writeHead(answer.status, { location: answer.location }).end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answer: () => 200,
    reply: () => '',
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
  return receiver;
}
