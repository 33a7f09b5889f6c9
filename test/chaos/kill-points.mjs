// Preloaded into an API or worker under test by `node --import`, outside production code: kill -9 by its own hand, once, at
// one point of a generation's way (reliability.md §4.4). CRASH_AT = K1 … K16; CRASH_MARKER = a file that says that it has
// happened, and keeps it from happening again; CRASH_SKIP = so many times it is let pass before (0).
import diagnostics from 'node:diagnostics_channel';
import { existsSync, writeFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { pathToFileURL } from 'node:url';
import { WorkflowClient } from '@temporalio/client';
import pg from 'pg';

/** Points by name: where they lie, and which process passes there. */
export const KILL_POINTS = {
  K1: { in: 'api', at: 'create_generation is committed, the run is not yet started' },
  K2: { in: 'api', at: 'the run is started; the answer may just have been given' },
  K3: { in: 'worker', at: 'the submission is claimed, its POST has not left' },
  K4: { in: 'worker', at: 'the provider has accepted the job, its answer is not read' },
  K5: { in: 'worker', at: 'the answer is read, record_submission is not called' },
  K6: { in: 'worker', at: 'record_submission is committed, the step is not reported' },
  K7: { in: 'worker', at: 'the provider answers an observation' },
  K8: { in: 'api', at: 'the callback is committed, the run is not woken' },
  K9: { in: 'api', at: 'the run is woken by a callback; its 200 may just have been given' },
  K10: { in: 'worker', at: 'some bytes of an output are on the disk' },
  K11: { in: 'worker', at: 'the temporary file is complete, it has no name yet' },
  K12: { in: 'worker', at: 'the file has its name, record_output is not called' },
  K13: { in: 'worker', at: 'settle is committed, the step is not reported' },
  K14: { in: 'worker', at: 'a webhook is claimed, its POST has not left' },
  K15: { in: 'worker', at: 'a webhook is answered, that is not recorded' },
  K16: { in: 'any', at: 'a cancel is on record or the provider has answered it, nothing is released' },
};

/** K16 lies in both. */
const HOOKS = {
  K1: () => aroundMethod('start', 'before', () => true),
  K2: () => aroundMethod('start', 'after', () => true),
  K3: () => onExchange('create', (request) => isSubmit(request)),
  K4: () => onExchange('headers', (request, status) => isSubmit(request) && status < 300),
  K5: () => aroundFunction('record_submission', 'before', accepted),
  K6: () => aroundFunction('record_submission', 'after', accepted),
  K7: () => onExchange('headers', (request) => isObservation(request)),
  K8: () => aroundMethod('signalWithStart', 'before', isByCallback),
  K9: () => aroundMethod('signalWithStart', 'after', isByCallback),
  K10: () => inFirstWrite(),
  K11: () => aroundLink('before'),
  K12: () => aroundLink('after'),
  K13: () => aroundFunction('settle', 'after', (_asked, text) => /"outcome": ?"settled"/.test(text)),
  K14: () => onExchange('create', (request) => isWebhook(request)),
  K15: () => aroundFunction('record_delivery_attempt', 'before', () => true),
  K16: () => {
    aroundFunction('request_cancel', 'after', () => true);
    onExchange('headers', (request, status) => isCancel(request) && status < 300);
  },
};

const point = process.env['CRASH_AT'];
const marker = process.env['CRASH_MARKER'] ?? '';
let toSkip = Number(process.env['CRASH_SKIP'] ?? 0);

/** Whether the process dies here; says so only once that it does not skip it. */
function strikes() {
  if (existsSync(marker)) return false;
  toSkip -= 1;
  return toSkip < 0;
}

function die() {
  writeFileSync(marker, point);
  process.kill(process.pid, 'SIGKILL');
}

/** An SQL function, by the text of what it is asked and of what it returns; both have quotes escaped or not. */
function aroundFunction(name, when, fits) {
  const query = Reflect.get(pg.Client.prototype, 'query');
  pg.Client.prototype.query = function patched(...args) {
    const text = typeof args[0] === 'string' ? args[0] : (args[0]?.text ?? '');
    if (!text.includes(`SELECT ${name}(`)) return query.apply(this, args);
    const asked = JSON.stringify([args[0]?.values, args[1]]).replaceAll('\\"', '"');
    if (when === 'before') {
      if (fits(asked) && strikes()) die();
      return query.apply(this, args);
    }
    const look = (result) => {
      if (fits(asked, JSON.stringify(result?.rows ?? []).replaceAll('\\"', '"')) && strikes()) die();
    };
    const at = args.findLastIndex((arg) => typeof arg === 'function');
    const callback = args[at];
    if (at >= 0) {
      args[at] = (error, result) => {
        if (!error) look(result);
        callback(error, result);
      };
      return query.apply(this, args);
    }
    const answer = query.apply(this, args);
    answer.then(look, () => {});
    return answer;
  };
}

function accepted(asked) {
  return /"kind": ?"accepted"/.test(asked);
}

/** A call of the Temporal client. */
function aroundMethod(name, when, fits) {
  const method = WorkflowClient.prototype[name];
  WorkflowClient.prototype[name] = async function patched(...args) {
    if (when === 'before' && fits(args) && strikes()) die();
    const result = await method.apply(this, args);
    if (when === 'after' && fits(args) && strikes()) die();
    return result;
  };
}

function isByCallback([, options]) {
  return options?.signalArgs?.[0]?.reason === 'callback';
}

/** create = nothing has left; headers = the head of the answer has arrived and nobody has seen it. */
function onExchange(event, fits) {
  diagnostics.subscribe(`undici:request:${event}`, ({ request, response }) => {
    if (fits(request, response?.statusCode) && strikes()) die();
  });
}

const providers = new Set(
  Object.entries(process.env)
    .filter(([name, url]) => /^PROVIDER_\w+_BASE_URL$/.test(name) && URL.canParse(url))
    .map(([, url]) => new URL(url).origin),
);

function isToProvider(request) {
  return providers.has(new URL(request.path, String(request.origin)).origin);
}

function isCancel(request) {
  return isToProvider(request) && (request.method === 'DELETE' || /[/:]cancel(\?|$)/.test(request.path));
}

function isSubmit(request) {
  return isToProvider(request) && request.method === 'POST' && !isCancel(request);
}

function isObservation(request) {
  return isToProvider(request) && request.method === 'GET' && !request.path.startsWith('/files/');
}

function isWebhook(request) {
  return request.method === 'POST' && /webhook-id/i.test(String(request.headers));
}

/** Half of the first piece of a file is written, then nothing more. */
function inFirstWrite() {
  const { open } = fs;
  fs.open = async (path, flags, ...rest) => {
    const handle = await open(path, flags, ...rest);
    if (flags !== 'wx') return handle;
    const write = handle.write.bind(handle);
    handle.write = async (chunk, offset, length, ...at) => {
      if (!strikes()) return write(chunk, offset, length, ...at);
      await write(chunk, offset, Math.ceil(length / 2), ...at);
      return die();
    };
    return handle;
  };
  syncBuiltinESMExports();
}

function aroundLink(when) {
  const { link } = fs;
  fs.link = async (from, to) => {
    const strikesHere = String(to).includes('gen_') && strikes();
    if (strikesHere && when === 'before') die();
    await link(from, to);
    if (strikesHere) die();
  };
  syncBuiltinESMExports();
}

if (point !== undefined) {
  const hook = HOOKS[point];
  if (hook === undefined || marker === '') {
    throw new Error(
      `CRASH_AT=${point} needs to be one of ${Object.keys(HOOKS).join(', ')}, and CRASH_MARKER a file`,
    );
  }
  hook();
}

/** What `node --import` takes. */
export const KILL_POINTS_URL = pathToFileURL(import.meta.filename).href;
