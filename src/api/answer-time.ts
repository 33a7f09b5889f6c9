import type { ServerResponse } from 'node:http';

/**
 * Cuts the connection of a client that has not taken the end of an answer in this time: a socket has no limit of its own
 * while bytes wait in it, and who never reads would hold connection and answer for ever. Answers that are sent piece by
 * piece have limits of their own until their last piece.
 */
export function limitAnswerTime(response: ServerResponse, limitMs: number): void {
  // All of it is with the socket; of requests sent ahead, when it is this one's turn.
  response.once('prefinish', () => {
    const timer = setTimeout(() => response.socket?.destroy(), limitMs);
    timer.unref();
    response.once('close', () => clearTimeout(timer));
  });
}
