// Ends what a stack started and removes its temporary folders when the stack's own process is gone, however it went.
// Lines on stdin: "+ PID SIGNAL" (watch), "- PID" (it ended), "t FOLDER" (temporary). The end of stdin is the end of the stack.
import { rmSync } from 'node:fs';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { processIdentity } from './process-lock.mjs';

const GRACE_MS = 8_000;
const watched = new Map();
const folders = new Set();

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});

for await (const line of createInterface({ input: process.stdin })) {
  const [verb, value, signal] = line.split('\t');
  if (verb === '+') watched.set(Number(value), { signal, identity: processIdentity(Number(value)) });
  if (verb === '-') watched.delete(Number(value));
  if (verb === 't') folders.add(value);
}

const until = Date.now() + GRACE_MS;
for (const pid of watched.keys()) send(pid, watched.get(pid).signal);
while ([...watched.keys()].some(isSame) && Date.now() < until)
  await new Promise((done) => setTimeout(done, 50));
for (const pid of watched.keys()) send(pid, 'SIGKILL');
for (const folder of folders) {
  if (basename(folder).startsWith('darkroom-'))
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Never true for a later process that was given the same pid. */
function isSame(pid) {
  const identity = processIdentity(pid);
  return identity !== null && identity === watched.get(pid).identity;
}

function send(pid, signal) {
  if (!isSame(pid)) return;
  try {
    process.kill(pid, signal);
  } catch {
    // It ended in this moment.
  }
}
