// A tenant's receiver of webhooks: answers 204 and tells its parent which generation was told of, and when.
import { createServer } from 'node:http';

// The machine's monotonic clock, which all its processes share.
const now = () => Number(process.hrtime.bigint()) / 1e6;

const server = createServer((request, response) => {
  const atMs = now();
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    response.writeHead(204).end();
    const [id] = /gen_[A-Za-z0-9]+/.exec(Buffer.concat(chunks).toString()) ?? [''];
    process.send?.({ id, atMs });
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () =>
  process.send?.({ url: `http://127.0.0.1:${server.address().port}/hook` }),
);
process.once('disconnect', () => process.exit(0));
