import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';

/**
 * What tells this life of a process from a later one with the same pid: its start time.
 * @param {number} pid
 * @returns {string | null} null when no such process runs
 */
export function processIdentity(pid) {
  if (!Number.isInteger(pid) || pid <= 0) return null;
  if (process.platform === 'linux') return linuxIdentity(pid);
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== 'EPERM') return null;
  }
  if (process.platform === 'win32') return 'running';
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || null;
  } catch {
    return null;
  }
}

function linuxIdentity(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return null;
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${fields[19]}`;
  } catch {
    return null;
  }
}

/**
 * The command line of a running process, for telling whether it is the one we started.
 * @param {number} pid
 * @returns {string | null} arguments joined by spaces; null when it can't be read
 */
export function commandLine(pid) {
  try {
    if (process.platform === 'linux') {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim() || null;
    }
    if (process.platform === 'win32') return null;
    return (
      execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim() || null
    );
  } catch {
    return null;
  }
}

/**
 * Takes a lock file for as long as this process lives; the lock of a dead process is taken over.
 * @param {string} path
 * @returns {{ taken: true, release: () => void } | { taken: false, pid: number }}
 */
export function takeLock(path) {
  const mine = JSON.stringify({
    pid: process.pid,
    identity: processIdentity(process.pid),
    nonce: randomBytes(8).toString('hex'),
  });
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  writeFileSync(draft, mine, { mode: 0o600 });
  try {
    for (;;) {
      try {
        linkSync(draft, path);
        return { taken: true, release: () => release(path, mine) };
      } catch (error) {
        if (error.code !== 'EEXIST') throw error;
      }
      const found = read(path);
      if (found === null) continue;
      const owner = parseOwner(found);
      if (owner !== null && owner.identity !== null && processIdentity(owner.pid) === owner.identity) {
        return { taken: false, pid: owner.pid };
      }
      removeStale(path, found);
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Removes the lock if it is still the stale one. One at a time: between a look and a removal somebody else could take it over.
 * The folder is one system call that only one can win; one left behind by a process that died inside counts for a moment.
 */
function removeStale(path, stale) {
  const takeover = `${path}.takeover`;
  try {
    mkdirSync(takeover);
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    removeAbandoned(takeover);
    return;
  }
  try {
    if (read(path) === stale) rmSync(path, { force: true });
  } finally {
    rmSync(takeover, { recursive: true, force: true });
  }
}

const TAKEOVER_MS = 10_000;
const LOOK_AGAIN_MS = 20;

function removeAbandoned(takeover) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_AGAIN_MS);
  try {
    if (Math.abs(Date.now() - statSync(takeover).mtimeMs) > TAKEOVER_MS) rmdirSync(takeover);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}

function release(path, mine) {
  if (read(path) === mine) rmSync(path, { force: true });
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

function parseOwner(text) {
  try {
    const { pid, identity } = JSON.parse(text);
    return typeof pid === 'number' && typeof identity === 'string' ? { pid, identity } : null;
  } catch {
    return null;
  }
}
