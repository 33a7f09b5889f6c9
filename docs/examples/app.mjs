// A product's backend: its page creates a video and watches it; a webhook tells the backend.
//   DARKROOM_URL=… DARKROOM_KEY=dk_… WEBHOOK_SECRET=whsec_… PORT=3000 node app.mjs
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import express from 'express';
import { createClient, DarkroomError, verifyWebhook, WebhookVerificationError } from 'darkroom/client';

const {
  DARKROOM_URL: darkroomUrl,
  DARKROOM_KEY: apiKey,
  WEBHOOK_SECRET: secret,
  PORT = '3000',
} = process.env;
const darkroom = createClient({ baseUrl: darkroomUrl, apiKey });
const app = express();

// The browser gets an id and a token that opens this one generation: never the API key.
app.post('/videos', express.json(), async (request, response) => {
  try {
    const { generation, watchToken } = await darkroom.create(
      { model: 'infro-video', input: { prompt: String(request.body.prompt) } },
      // From the page, so that a double click makes one video.
      { idempotencyKey: String(request.body.intent) },
    );
    response.status(202).json({ id: generation.id, watchToken, darkroomUrl });
  } catch (error) {
    if (!(error instanceof DarkroomError)) throw error;
    response.status(error.status).json({ code: error.code, message: error.detail });
  }
});

// The raw bytes are what is signed. The same event may come twice: its id tells.
const seen = new Set();
app.post('/webhooks/darkroom', express.raw({ type: 'application/json' }), async (request, response) => {
  try {
    const event = await verifyWebhook({ body: request.body, headers: request.headers, secret });
    if (!seen.has(event.id)) console.log(`webhook ${event.type} ${event.data.id ?? ''}`);
    seen.add(event.id);
    response.sendStatus(204);
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    response.sendStatus(400);
  }
});

// What the page loads: itself, the client, and the one package that the client needs.
const here = dirname(fileURLToPath(import.meta.url));
const { resolve } = createRequire(import.meta.url);
app.get('/', (_request, response) => response.sendFile(join(here, 'page.html')));
app.use('/client', express.static(dirname(fileURLToPath(import.meta.resolve('darkroom/client')))));
app.use('/openapi-fetch', express.static(dirname(resolve('openapi-fetch'))));
app.listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${PORT}`));
