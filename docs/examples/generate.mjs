// Creates a video, tells how it goes, and keeps the file:
//   DARKROOM_URL=http://127.0.0.1:8080 DARKROOM_KEY=dk_… node generate.mjs "A lighthouse in a storm" video.mp4
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createClient, WaitTimeoutError } from 'darkroom/client';

const [prompt = 'A lighthouse in a storm, seen from the sea', file = 'video.mp4'] = process.argv.slice(2);
const darkroom = createClient({ baseUrl: process.env.DARKROOM_URL, apiKey: process.env.DARKROOM_KEY });

const { generation } = await darkroom.create({ model: 'infro-video', input: { prompt } });
console.log(`${generation.id}: ${generation.credits.held} credits held`);

try {
  const done = await darkroom.wait(generation.id, {
    timeoutMs: 10 * 60_000,
    onEvent: ({ type, stage, progress }) => console.log(type, stage ?? progress ?? ''),
  });
  if (done.state !== 'succeeded') {
    console.error(`${done.state}: ${done.error?.message ?? 'cancelled'}`);
    process.exit(1);
  }
  const { body, bytes } = await darkroom.download(done.id);
  await pipeline(Readable.fromWeb(body), createWriteStream(file));
  console.log(`${file}: ${bytes} bytes, ${done.credits.captured} credits`);
} catch (error) {
  if (!(error instanceof WaitTimeoutError)) throw error;
  // It goes on and is paid for: keep the id and wait for it again.
  console.error(error.message);
  process.exit(2);
}
