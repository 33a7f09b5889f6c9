import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A span of the machine's monotonic clock in microseconds, as a profile counts. */
export interface Span {
  readonly fromUs: number;
  readonly toUs: number;
}

/** Milliseconds of self time, largest first. */
type Shares = readonly (readonly [name: string, ms: number])[];

interface Summary {
  readonly thread: string;
  readonly totalMs: number;
  /** By package; what Node's own code does counts for the package that called it, if one did. */
  readonly packages: Shares;
  readonly functions: Shares;
  readonly ourFiles: Shares;
}

export function nowUs(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

/** Where the time went within the spans: one summary for each thread that wrote a profile. */
export function summarize(folder: string, spans: readonly Span[]): Summary[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .sort()
    .map((name) => {
      const profile = JSON.parse(readFileSync(join(folder, name), 'utf8')) as CpuProfile;
      return summarizeOne(threadOf(name), profile, spans);
    })
    .filter(({ totalMs }) => totalMs > 0);
}

/** `CPU.<date>.<time>.<pid>.<thread>.<number>.cpuprofile` */
function threadOf(name: string): string {
  return name.split('.')[4] === '0' ? 'main' : `thread ${name.split('.')[4]}`;
}

function summarizeOne(thread: string, profile: CpuProfile, spans: readonly Span[]): Summary {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map<number, number>();
  for (const { id, children } of profile.nodes) for (const child of children ?? []) parents.set(child, id);
  const self = new Map<number, number>();
  let atUs = profile.startTime;
  profile.samples.forEach((id, index) => {
    const us = profile.timeDeltas[index] ?? 0;
    atUs += us;
    if (spans.some(({ fromUs, toUs }) => atUs >= fromUs && atUs <= toUs))
      self.set(id, (self.get(id) ?? 0) + us);
  });
  const sums = { packages: new Map(), functions: new Map(), files: new Map() } as Record<
    'packages' | 'functions' | 'files',
    Map<string, number>
  >;
  const add = (to: Map<string, number>, name: string, us: number) => to.set(name, (to.get(name) ?? 0) + us);
  let totalUs = 0;
  for (const [id, us] of self) {
    const node = nodes.get(id);
    if (node === undefined || node.callFrame.functionName === '(idle)') continue;
    totalUs += us;
    add(sums.packages, packageFor(id, nodes, parents), us);
    const { functionName, url, lineNumber } = node.callFrame;
    const where = url === '' ? '' : ` ${shortUrl(url)}:${lineNumber + 1}`;
    add(sums.functions, `${functionName || '(anonymous)'}${where}`, us);
    const file = ourFile(id, nodes, parents);
    if (file !== null) add(sums.files, file, us);
  }
  const top = (of: Map<string, number>, count: number): Shares =>
    [...of]
      .sort(([, a], [, b]) => b - a)
      .slice(0, count)
      .map(([name, us]) => [name, Math.round(us / 100) / 10] as const);
  return {
    thread,
    totalMs: Math.round(totalUs / 1_000),
    packages: top(sums.packages, 25),
    functions: top(sums.functions, 40),
    ourFiles: top(sums.files, 25),
  };
}

type Nodes = ReadonlyMap<number, ProfileNode>;
type Parents = ReadonlyMap<number, number>;

/** The nearest package above: native and Node's own frames are charged to who called them. */
function packageFor(start: number, nodes: Nodes, parents: Parents): string {
  let top = '';
  for (let id: number | undefined = start; id !== undefined; id = parents.get(id)) {
    const frame = nodes.get(id)?.callFrame;
    if (frame === undefined) break;
    const name = packageOf(frame.url);
    if (name !== null) return name;
    if (frame.url.startsWith('node:')) top = frame.url;
    else if (top === '' && frame.functionName.startsWith('(') && frame.functionName !== '(root)')
      return frame.functionName;
  }
  return top === '' ? '(native)' : top;
}

function packageOf(url: string): string | null {
  const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  if (name !== undefined) return name;
  if (/\/db\/generated\//.test(url)) return 'prisma (generated)';
  if (/preload\.mjs/.test(url)) return 'bench';
  if (/\.test-build\/|\/test\/bench\//.test(url)) return 'ours';
  return url.startsWith('wasm:') ? 'wasm' : null;
}

/** The nearest file of ours above, whose work or whose call into a package this is. */
function ourFile(start: number, nodes: Nodes, parents: Parents): string | null {
  for (let id: number | undefined = start; id !== undefined; id = parents.get(id)) {
    const url = nodes.get(id)?.callFrame.url ?? '';
    const [, file] = /\.test-build\/[^/]+\/(.*)$/.exec(url) ?? [];
    if (file !== undefined && !file.includes('db/generated/')) return file;
  }
  return null;
}

function shortUrl(url: string): string {
  return url.replace(/^.*\/node_modules\//, '').replace(/^.*\/\.test-build\/[^/]+\//, 'ours/');
}

/** For people: what each thread did, in milliseconds for one generation. */
export function summaryText(title: string, summaries: readonly Summary[], generations: number): string {
  const each = (ms: number) => (ms / generations).toFixed(2).padStart(8);
  return summaries
    .map(({ thread, totalMs, packages, functions, ourFiles }) => {
      const list = (heading: string, shares: Shares) =>
        [`  ${heading}`, ...shares.map(([name, ms]) => `  ${each(ms)}  ${name}`)].join('\n');
      return [
        `${title}, ${thread}: ${(totalMs / generations).toFixed(2)} ms of JavaScript a generation`,
        list('by package (self time, Node and native charged to the caller)', packages),
        list('by function', functions),
        ...(ourFiles.length === 0 ? [] : [list('by the file of ours that called', ourFiles)]),
      ].join('\n');
    })
    .join('\n\n');
}
