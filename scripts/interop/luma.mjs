// Luma's own Python client (PyPI luma-agents) against our simulator: what it sends is taken, what it is answered fits its types,
// by which it checks every answer.
import { deflateSync } from 'node:zlib';
import { pythonWith, runPython } from './python.mjs';

const LIBRARY = 'luma-agents==0.5.0';
const CLIENT = `
import json, sys, time, urllib.request
import luma_agents
given = json.load(sys.stdin)
faults = json.dumps(given["faults"]).encode()
urllib.request.urlopen(urllib.request.Request(given["url"] + "/_sim/faults", data=faults, method="POST"), timeout=60).close()
def connect(key):
    return luma_agents.Luma(auth_token=key, base_url=given["url"] + "/v1", max_retries=0, timeout=60, _strict_response_validation=True)
client = connect(given["key"])
def ended(made):
    limit = time.monotonic() + 60
    while made.state not in ("completed", "failed"):
        if time.monotonic() > limit:
            raise TimeoutError(made.state)
        time.sleep(0.02)
        made = client.generations.get(made.id)
    return made
def fetched(made):
    with urllib.request.urlopen(made.output[0].url, timeout=60) as answer:
        return f"{made.type} {answer.headers['content-type']} {len(answer.read()) > 0}"
def refused(ask):
    try:
        ask()
    except luma_agents.APIStatusError as error:
        return f"{type(error).__name__} {error.body['detail']}"
def ray(prompt, **video):
    return client.generations.create(model="ray-3.2", type="video", prompt=prompt, aspect_ratio="16:9", video=video)
def failure(made):
    return f"{made.state} {made.failure_code}"
unknown = "00000000-0000-0000-0000-000000000000"
frame = {"data": given["png"], "media_type": "image/png"}
tries = {
    "submitted": lambda: ray("dolly shot", resolution="720p", duration="10s").state,
    "text to video": lambda: fetched(ended(ray("greenhouse", resolution="540p", duration="5s", loop=True))),
    "image to video": lambda: fetched(ended(ray("smile", duration="5s", start_frame=frame))),
    "text to image": lambda: fetched(ended(client.generations.create(prompt="iced coffee", output_format="png", style="auto", user_id="u-1"))),
    "moderated": lambda: failure(ended(ray("moderated"))),
    "failed": lambda: failure(ended(ray("failed"))),
    "unknown model": lambda: refused(lambda: client.generations.create(prompt="x", model="super-model-v9")),
    "two media references": lambda: refused(lambda: ray("x", start_frame={**frame, "url": "https://h.example/a.png"})),
    "too often": lambda: refused(lambda: ray("too often")),
    "wrong key": lambda: refused(lambda: connect("wrong").generations.get(unknown)),
    "unknown generation": lambda: refused(lambda: client.generations.get(unknown)),
}
json.dump({name: run() for name, run in tries.items()}, sys.stdout)
`;

const EXPECTED = {
  submitted: 'queued',
  'text to video': 'video video/mp4 True',
  'image to video': 'video video/mp4 True',
  'text to image': 'image image/png True',
  moderated: 'failed content_moderated',
  failed: 'failed generation_failed',
  'unknown model': 'BadRequestError Unknown model: super-model-v9',
  'two media references': "BadRequestError video.start_frame: provide either 'url' or 'data', not both",
  'too often': 'RateLimitError Rate limit exceeded',
  'wrong key': 'AuthenticationError Missing or invalid API key',
  'unknown generation': 'NotFoundError Generation not found',
};

/**
 * @param {string} cache the user's cache folder of Darkroom
 * @returns {Promise<{ name: string, expected: string, verdict: string }[]>}
 */
export async function lumaClient(cache) {
  const python = await pythonWith(cache, LIBRARY);
  const { startSimulator } = await import('../../src/simulators/core.ts');
  const { lumaSimulator } = await import('../../src/simulators/luma.ts');
  const key = 'luma-api-key';
  const simulator = await startSimulator(lumaSimulator, { apiKeys: [key], renderMs: 40 });
  try {
    const faults = [
      { kind: 'moderated', match: { prompt: 'moderated' } },
      { kind: 'fail', code: 'generation_failed', match: { prompt: 'failed' } },
      { kind: 'status_429', retry_after: 7, match: { prompt: 'too often' } },
    ];
    const png = deflateSync(Buffer.alloc(64)).toString('base64');
    const given = { url: simulator.url, key, png, faults };
    const verdicts = JSON.parse(await runPython(python, ['-c', CLIENT], JSON.stringify(given)));
    return Object.entries(EXPECTED).map(([name, expected]) => ({
      name: `Luma's client: ${name}`,
      expected,
      verdict: String(verdicts[name]),
    }));
  } finally {
    await simulator.close();
  }
}
