// Makes a checkout ready to run: packages from the lock file, the Prisma client from its schema. Does only what is missing.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { takeLock } from './process-lock.mjs';
import { commandScript, ROOT, run } from './tools.mjs';

const LOCK_FILE = join(ROOT, 'package-lock.json');
const MODULES = join(ROOT, 'node_modules');
const MODULES_STAMP = join(MODULES, '.darkroom-lock');
const SCHEMA = join(ROOT, 'prisma', 'schema.prisma');
const GENERATED = join(ROOT, 'src', 'db', 'generated');
const GENERATED_STAMP = join(GENERATED, '.darkroom-schema');
const WAIT_MS = 10 * 60_000;

/**
 * @param {(line: string) => void} [say] told each step before it begins
 * @throws Error that says what to do when a step fails
 */
export async function prepare(say = (line) => process.stderr.write(`${line}\n`)) {
  requireNode();
  if (isInstalled() && isGenerated()) return;
  const lock = await waitForLock(say);
  try {
    if (!isInstalled()) await install(say);
    if (!isGenerated()) await generate(say);
  } finally {
    lock.release();
  }
}

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  throw new Error(
    `Darkroom needs Node 20.19 or newer; this is ${process.versions.node}. Get one at https://nodejs.org.`,
  );
}

/** Two runs at once: the second waits and then finds all done. */
async function waitForLock(say) {
  mkdirSync(join(ROOT, '.darkroom'), { recursive: true });
  const path = join(ROOT, '.darkroom', 'prepare.lock');
  const until = Date.now() + WAIT_MS;
  for (let told = false; ; told = true) {
    const lock = takeLock(path);
    if (lock.taken) return lock;
    if (Date.now() > until)
      throw new Error(`Process ${lock.pid} has been preparing for 10 minutes: end it, then try again.`);
    if (!told) say(`waiting for process ${lock.pid}, which is preparing this checkout`);
    await new Promise((done) => setTimeout(done, 200));
  }
}

function hash(...texts) {
  return createHash('sha256').update(texts.join('\0')).digest('hex');
}

function read(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

/** Packages are chosen by platform, so a folder shared with another system is not good here. */
const PLATFORM = `${process.platform}-${process.arch}`;

function installStamp() {
  return `${hash(read(LOCK_FILE))} ${PLATFORM}`;
}

function isInstalled() {
  const stamp = read(MODULES_STAMP);
  if (stamp === installStamp()) return true;
  if ((stamp !== '' && !stamp.endsWith(` ${PLATFORM}`)) || !matchesLockFile()) return false;
  writeFileSync(MODULES_STAMP, installStamp());
  return true;
}

/** Someone ran npm by hand: its own record, written when it has finished, tells what is there. */
function matchesLockFile() {
  const record = read(join(MODULES, '.package-lock.json'));
  if (record === '') return false;
  const installed = JSON.parse(record).packages;
  return Object.entries(JSON.parse(read(LOCK_FILE)).packages).every(([path, { version, optional }]) => {
    if (path === '') return true;
    return installed[path] === undefined ? optional === true : installed[path].version === version;
  });
}

async function install(say) {
  say('installing packages (npm ci)');
  const npm = process.env.npm_execpath;
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund'];
  const viaNode = npm !== undefined && /npm-cli\.c?js$/.test(npm);
  const program = viaNode ? process.execPath : process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const { ok, output } = await run(program, viaNode ? [npm, ...args] : args, withoutDownloads());
  if (!ok) {
    throw failed(
      'npm ci',
      output,
      'Check the network and the npm registry (npm config get registry), then try again.',
    );
  }
  writeFileSync(MODULES_STAMP, installStamp());
}

function generateStamp() {
  return hash(read(SCHEMA), read(join(MODULES, 'prisma', 'package.json')));
}

function isGenerated() {
  return existsSync(join(GENERATED, 'client.ts')) && read(GENERATED_STAMP) === generateStamp();
}

async function generate(say) {
  say('generating the Prisma client (prisma generate)');
  const stamp = generateStamp();
  const args = [commandScript('prisma', 'prisma'), 'generate', '--schema', SCHEMA];
  const { ok, output } = await run(process.execPath, args, withoutDownloads());
  if (!ok)
    throw failed(
      'prisma generate',
      output,
      'Correct prisma/schema.prisma, or remove node_modules, then try again.',
    );
  writeFileSync(GENERATED_STAMP, stamp);
}

/** Prisma looks for a native engine that we don't use, and downloads it unless this names an existing file. */
function withoutDownloads() {
  return {
    PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
    PRISMA_HIDE_UPDATE_MESSAGE: '1',
    CHECKPOINT_DISABLE: '1',
  };
}

function failed(what, output, wayOut) {
  return new Error(`${what} failed:\n${output.split('\n').slice(-25).join('\n')}\n${wayOut}`);
}

/** Runs `prepare` for a command: on failure its message alone, and the exit status 1. */
export async function prepareOrExit(say) {
  try {
    await prepare(say);
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await prepareOrExit();
