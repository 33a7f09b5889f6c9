// The official Python client of the OpenAI API (PyPI openai) as it is, with our address and key, against a whole Darkroom of its own:
// what it asks of videos is carried out, and what it is answered fits its types and classes.
import { pythonWith, runPython } from './python.mjs';

const LIBRARY = 'openai==3.57.0';
const CLIENT = `
import base64, json, sys
import openai
given = json.load(sys.stdin)
def connect(key):
    return openai.OpenAI(api_key=key, base_url=given["url"] + "/v1", timeout=120)
client = connect(given["key"])
png = base64.b64decode(given["png"])
made = {}
def ended(name, **wish):
    video = client.videos.create_and_poll(poll_interval_ms=200, **wish)
    made[name] = video
    return f"{type(video).__name__} {video.status} {video.progress} {video.seconds}"
def content(name):
    answer = client.videos.download_content(made[name].id)
    return f"{answer.response.headers['content-type']} {len(answer.read()) > 0}"
def polled():
    video = client.videos.create(model="infro-video", prompt="polled by the header", seconds="4")
    return client.videos.poll(video.id).status
def same():
    wish = dict(model="infro-video", prompt="twice the same", seconds="4")
    one, two = client.videos.create(**wish), client.videos.create(**wish)
    three = client.videos.create(**wish, extra_headers={"Idempotency-Key": "one-of-its-own"})
    return f"{one.id == two.id} {one.id == three.id}"
def pages():
    ids = [video.id for video in client.videos.list(limit=1)]
    oldest = [video.id for video in client.videos.list(limit=2, order="asc")]
    return f"{len(ids) == len(set(ids))} {ids == oldest[::-1]} {made['text'].id in ids}"
def refused(ask):
    try:
        ask()
    except openai.APIStatusError as error:
        return f"{type(error).__name__} {error.code} {error.param} {str(error.request_id).startswith('req_')}"
tries = {
    "text to video": lambda: ended("text", model="infro-video", prompt="a lighthouse", seconds="4"),
    "an image from a file": lambda: ended("file", model="animate-image", prompt="it sails", seconds="5", input_reference=("boat.png", png, "image/png")),
    "an image as plain bytes": lambda: ended("bytes", model="animate-image", prompt="it sails on", seconds="5", input_reference=png),
    "its file": lambda: content("text"),
    "polled as the server says": polled,
    "equal requests, and one with a key": same,
    "pages of a list": pages,
    "deleted": lambda: f"{client.videos.delete(made['text'].id).deleted}",
    "read after that": lambda: refused(lambda: client.videos.retrieve(made["text"].id)),
    "unknown model": lambda: refused(lambda: client.videos.create(model="sora-2", prompt="x")),
    "a size that is none": lambda: refused(lambda: client.videos.create(model="infro-video", prompt="x", size="1280x720")),
    "a thumbnail": lambda: refused(lambda: client.videos.download_content(made["file"].id, variant="thumbnail")),
    "a remix": lambda: refused(lambda: client.videos.remix(made["file"].id, prompt="x")),
    "wrong key": lambda: refused(lambda: connect("wrong").videos.list()),
}
json.dump({name: run() for name, run in tries.items()}, sys.stdout)
`;

const EXPECTED = {
  'text to video': 'Video completed 100 4',
  'an image from a file': 'Video completed 100 5',
  'an image as plain bytes': 'Video completed 100 5',
  'its file': 'video/mp4 True',
  'polled as the server says': 'completed',
  'equal requests, and one with a key': 'True False',
  'pages of a list': 'True True True',
  deleted: 'True',
  'read after that': 'NotFoundError video_not_found None True',
  'unknown model': 'BadRequestError unknown_model model True',
  'a size that is none': 'BadRequestError invalid_request size True',
  'a thumbnail': 'BadRequestError invalid_query variant True',
  'a remix': 'NotFoundError not_found None True',
  'wrong key': 'AuthenticationError api_key_invalid None True',
};

/**
 * @param {string} cache the user's cache folder of Darkroom
 * @returns {Promise<{ name: string, expected: string, verdict: string }[]>}
 */
export async function openaiClient(cache) {
  const python = await pythonWith(cache, LIBRARY);
  const { temporaryFolder } = await import('../../src/dev/keeper.ts');
  const { Parts } = await import('../../src/dev/parts.ts');
  const { seedTenant } = await import('../../src/dev/seed.ts');
  const { startStack } = await import('../../src/dev/stack.ts');
  const { png } = await import('../../test/storage/media.ts');
  const folder = temporaryFolder('interop');
  const parts = new Parts();
  const { DATABASE_URL: _database, TEMPORAL_ADDRESS: _temporal, ...env } = process.env;
  const say = (line) => process.stderr.write(`${line}\n`);
  try {
    const stack = await startStack({ dataDir: folder.path, env, say, parts });
    const { apiKey } = await seedTenant(stack.databaseUrl);
    const picture = png(640, 360).toString('base64');
    const given = JSON.stringify({ url: stack.apiUrl, key: apiKey, png: picture });
    const verdicts = JSON.parse(await runPython(python, ['-W', 'ignore', '-c', CLIENT], given));
    return Object.entries(EXPECTED).map(([name, expected]) => ({
      name: `OpenAI's client: ${name}`,
      expected,
      verdict: String(verdicts[name]),
    }));
  } finally {
    await parts.stop();
    await folder.remove();
  }
}
