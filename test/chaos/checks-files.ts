import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { originalSha256 } from '../../src/dev/cluster-checks.ts';
import { MEDIA } from '../../src/simulators/media/kinds.ts';
import { createStorage } from '../../src/storage/index.ts';
import { inParallel, type Books, type Finding, type Row } from './open-books.ts';
import { leftoverOf } from './struck.ts';

/** Of providers that don't make every length, in seconds: the next one that they make. */
const OTHER_LENGTHS = [5, 6, 8, 10];

/** What is stored, against what the simulators made, and against the rows. */
export async function checkFiles(books: Books): Promise<Finding[]> {
  const findings: Finding[] = [];
  await inParallel(books.rows, async (row) => {
    findings.push(...(await otherFiles(books, row)));
  });
  return [...findings, ...(await strayFiles(books))];
}

async function otherFiles(books: Books, row: Row): Promise<Finding[]> {
  const storage = createStorage(books.world.storageUrl);
  const findings: Finding[] = [];
  for (const { index, path, sha256, mediaType } of row.outputs.filter((one) => one.state === 'stored')) {
    const said = Buffer.from(sha256 ?? []).toString('hex');
    const stored = path === null ? undefined : (await storage.stat(path))?.sha256;
    const made = await madeBy(books, row, { index, mediaType, stored });
    if (stored !== undefined && stored === made && said === made) continue;
    const problem = `output ${index}: file ${stored ?? 'gone'}, row ${said}, provider ${made ?? 'nothing'}`;
    findings.push({ check: 'stored bytes are those of the provider', generation: row.id, problem });
  }
  return findings;
}

/**
 * Hash of what the job made. Simulators make a file from the job's id and its seconds, so it is made again here; asked for
 * only where that gives something else, since a fault of the link may still be in force.
 */
async function madeBy(
  { world }: Books,
  { submissions, input }: Row,
  output: { readonly index: number; readonly mediaType: string | null; readonly stored: string | undefined },
): Promise<string | null> {
  const { provider = '', providerJobId: jobId = null } =
    submissions.find(({ state }) => state === 'accepted') ?? {};
  const media = Object.values(MEDIA).find(({ type }) => type === output.mediaType);
  if (jobId === null || media === undefined) return null;
  const { duration_seconds: seconds = 0 } = input as { duration_seconds?: number };
  for (const length of new Set([seconds, ...OTHER_LENGTHS])) {
    const made = sha256Of(media.make(`${jobId}/${output.index}`, length));
    if (made === output.stored) return made;
  }
  const access = { url: world.simulators[provider] ?? '', apiKey: world.simulatorKeys[provider] ?? '' };
  return originalSha256(access, jobId, `${output.index}.${media.extension}`);
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * Files that no row names. A process that dies in the middle of one leaves it: it is removed after a day, so only those that
 * nobody's death explains are found here.
 */
async function strayFiles({ world, rows }: Books): Promise<Finding[]> {
  if (!world.storageUrl.startsWith('file:')) return [];
  const root = fileURLToPath(world.storageUrl);
  const named = new Set(rows.flatMap(({ outputs }) => outputs.map(({ path }) => path)));
  const findings: Finding[] = [];
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).slice(root.length).replace(/^\//, '');
    if (!entry.isFile() || named.has(path) || path.startsWith('inp_')) continue;
    const { mtimeMs } = await stat(join(root, path));
    if (leftoverOf(world, path, mtimeMs) !== null) continue;
    const isTemporary = path.startsWith('tmp/');
    findings.push({
      check: isTemporary ? 'no temporary file is left' : 'every file has its row',
      generation: isTemporary ? null : (path.split('/')[0] ?? null),
      problem: `${path}, written at ${new Date(mtimeMs).toISOString()}`,
    });
  }
  return findings;
}
