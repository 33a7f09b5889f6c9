// One file over plain HTTP, from a process of its own: what both our download and curl fetch.
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';

const [file = ''] = process.argv.slice(2);
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': statSync(file).size });
  createReadStream(file, { highWaterMark: 1_048_576 }).pipe(response);
});
server.listen(0, '127.0.0.1', () =>
  process.send?.({ url: `http://127.0.0.1:${server.address().port}/video.mp4` }),
);
process.once('disconnect', () => process.exit(0));
