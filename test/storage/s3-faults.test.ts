import { createHash, randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { createStorage } from '../../src/storage/index.ts';
import { type Passing, s3Error } from '../support/fault-proxy.ts';
import { s3Url } from '../support/minio.ts';
import { PREFIX, useMinio } from './s3-bench.ts';
import { GENERATION, PATH, read, store } from './storage.testsuite.ts';

const MB = 1_000_000;
const { bench, server } = useMinio();
const isPart = ({ query }: Passing) => query.has('partNumber');
const isPut = ({ method, query }: Passing) => method === 'PUT' && !query.has('partNumber');
const isComplete = ({ method, query }: Passing) => method === 'POST' && query.has('uploadId');

/** True for the first request that fits, and only for it. */
function first(fits: (passing: Passing) => boolean): (passing: Passing) => boolean {
  let struck = false;
  return (passing) => {
    if (struck || !fits(passing)) return false;
    struck = true;
    return true;
  };
}

describe('s3 storage: faults on the way', () => {
  it.each([
    ['a small file', 1_000, isPut],
    ['a file of parts', 9 * MB, isComplete],
  ])('%s whose answer is lost after it was stored is stored', async (_, bytes, last) => {
    const { driver, proxy, everything } = await bench();
    const strikes = first(last);
    proxy.use((passing) => (strikes(passing) ? { kind: 'lose_answer' } : undefined));
    const content = randomBytes(bytes);
    await store(driver, PATH, content);
    // The SDK has asked again, and was refused because of our own object.
    expect(proxy.seen.filter(last)).toHaveLength(2);
    expect(proxy.seen.filter(({ method }) => method === 'HEAD')).toHaveLength(1);
    expect(await driver.stat(PATH)).toMatchObject({
      sha256: createHash('sha256').update(content).digest('hex'),
    });
    expect(await everything()).toEqual([PATH]);
  });

  it.each([
    ['a small file', 1_000, isPut],
    ['a part', 9 * MB, isPart],
  ])('%s whose bytes were changed on the way is refused by the server', async (_, bytes, which) => {
    const { driver, proxy, everything } = await bench();
    proxy.use((passing) => (which(passing) ? { kind: 'corrupt' } : undefined));
    await expect(store(driver, PATH, Buffer.alloc(bytes))).rejects.toMatchObject({
      name: 'StorageError',
      message: 'the bytes were changed on their way: the file is fetched again',
    });
    expect(await everything()).toEqual([]);
  });

  it.each([
    ['write', 60],
    ['commit', 9],
  ])(
    'a part that fails ends the others at once, is told by the next %s, and nothing is left',
    async (_, megabytes) => {
      const { driver, proxy, everything } = await bench();
      proxy.use(async (passing) => {
        if (passing.query.get('partNumber') === '2') return s3Error(403, 'AccessDenied');
        if (isPart(passing)) await new Promise(() => {});
        return undefined;
      });
      const file = await driver.create(PATH);
      const finish = async () => {
        for (let i = 0; i < megabytes; i += 1) await file.write(Buffer.alloc(MB));
        await file.commit();
      };
      await expect(finish()).rejects.toMatchObject({
        code: 'AccessDenied',
        message: expect.stringContaining('allow s3:PutObject on s3://'),
      });
      await expect(file.write(Buffer.alloc(1))).rejects.toThrow('the file is already discarded');
      expect(await everything()).toEqual([]);
    },
  );

  it('one fault of the server is no failure', async () => {
    const { driver, proxy } = await bench();
    const strikes = first(isPut);
    proxy.use((passing) => (strikes(passing) ? s3Error(503, 'SlowDown') : undefined));
    await store(driver, PATH, Buffer.from('x'));
    expect(await driver.stat(PATH)).toMatchObject({ bytes: 1 });
  });

  it('what the SDK knows of a call is not in the error: no header, no signature', async () => {
    const { driver, proxy } = await bench();
    await driver.check();
    proxy.use(({ method }) => s3Error(403, method === 'HEAD' ? '' : 'AccessDenied'));
    for (const call of [driver.stat(PATH), driver.remove(PATH), driver.check()]) {
      const failure: unknown = await call.catch((error: unknown) => error);
      expect(failure).toMatchObject({ name: 'StorageError', cause: { status: 403 } });
      expect(inspect(failure, { depth: 9, showHidden: true })).not.toMatch(/AWS4|[Aa]uthorization|Signature/);
    }
  });

  it('a read in which the server stands still ends; a slow reader is no such thing', async () => {
    const { driverWith, proxy } = await bench();
    const driver = driverWith({ idleMs: 2_000 });
    await store(driver, PATH, randomBytes(3 * MB));
    const chunks = (await driver.read(PATH))[Symbol.asyncIterator]();
    let bytes = (await chunks.next()).value.length;
    await new Promise((done) => {
      setTimeout(done, 3_000);
    });
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) bytes += next.value.length;
    expect(bytes).toBe(3 * MB);
    proxy.use(() => ({ kind: 'stall', afterBytes: MB }));
    await expect(read(driver)).rejects.toMatchObject({
      name: 'StorageError',
      message: 'the storage sent nothing for 2 s',
    });
  });
});

describe('s3 storage: check', () => {
  const failing = async (url: string) => {
    const failure: unknown = await createStorage(url)
      .check()
      .catch((error: unknown) => error);
    return (failure as Error).message;
  };
  const dead = 'http://127.0.0.1:1';

  it('tells a missing bucket, and a server that is away', async () => {
    const { proxy } = await bench();
    expect(await failing(s3Url(proxy.endpoint, 'no-such-bucket'))).toBe(
      'the storage s3://no-such-bucket cannot be used: there is no bucket no-such-bucket: create it, or correct its name in STORAGE_URL.',
    );
    expect(await failing(s3Url(dead, 'bucket'))).toContain(
      `${dead} does not answer (ECONNREFUSED): check endpoint=`,
    );
  });

  it('tells which credentials are wrong or missing, and a missing region', async () => {
    const { url } = await bench();
    try {
      vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'wrong');
      expect(await failing(url)).toContain(
        'AWS does not know or accept the credentials: set AWS_ACCESS_KEY_ID',
      );
      vi.stubEnv('AWS_ACCESS_KEY_ID', undefined);
      vi.stubEnv('AWS_SECRET_ACCESS_KEY', undefined);
      vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nonexistent');
      vi.stubEnv('AWS_CONFIG_FILE', '/nonexistent');
      expect(await failing(url)).toContain('no credentials are found: set AWS_ACCESS_KEY_ID');
      vi.stubEnv('AWS_REGION', undefined);
      expect(await failing(url.replace('region=us-east-1&', ''))).toContain('no region is set: add region=');
    } finally {
      for (const [name, value] of Object.entries(server().env)) vi.stubEnv(name, value);
    }
  });

  it.each([
    ['PUT', 's3:PutObject'],
    ['GET', 's3:GetObject'],
    ['LIST', 's3:ListBucket'],
    ['DELETE', 's3:DeleteObject'],
    ['UPLOADS', 's3:ListBucketMultipartUploads and s3:AbortMultipartUpload'],
  ])('tells which permission is denied: %s', async (call, action) => {
    const { url, proxy } = await bench();
    proxy.use(({ method, query }) => {
      const kind = query.has('uploads') ? 'UPLOADS' : query.has('list-type') ? 'LIST' : method;
      return kind === call ? s3Error(403, 'AccessDenied') : undefined;
    });
    expect(await failing(url)).toContain(`access is denied: allow ${action} on s3://`);
  });

  it.each([
    ['the body', s3Error(400, 'AuthorizationHeaderMalformed', '<Region>eu-west-9</Region>')],
    ['the head', { ...s3Error(301, 'PermanentRedirect'), headers: { 'x-amz-bucket-region': 'eu-west-9' } }],
  ])('tells the region that the bucket is in, as AWS says in %s of its answer', async (_, answer) => {
    const { url, proxy } = await bench();
    proxy.use(() => answer);
    expect(await failing(url)).toContain('the bucket is in another region, eu-west-9: correct region=');
  });

  it('refuses a server that lets an object be replaced', async () => {
    const { url, proxy, everything } = await bench();
    let puts = 0;
    proxy.use(({ method }) => {
      if (method === 'PUT') puts += 1;
      return method === 'PUT' && puts === 2 ? { kind: 'answer', status: 200 } : undefined;
    });
    expect(await failing(url)).toContain('must refuse a second object under a key (If-None-Match: *)');
    expect(await everything()).toEqual([]);
  });

  it('asks with one cheap call while nothing has failed, and tries everything again after a failure', async () => {
    const { driver, proxy } = await bench();
    await Promise.all([driver.check(), driver.check()]);
    const methods = () => proxy.seen.splice(0).map(({ method }) => method);
    expect(methods()).toEqual(['PUT', 'PUT', 'GET', 'GET', 'DELETE', 'GET', 'GET']);
    await driver.check();
    expect(methods()).toEqual(['HEAD']);

    proxy.use(({ method }) => (method === 'PUT' ? s3Error(403, 'AccessDenied') : undefined));
    await expect(store(driver, PATH, Buffer.from('x'))).rejects.toThrow('access is denied');
    methods();
    // Nothing is fetched from a provider while it can't be stored.
    await expect(driver.create(`${GENERATION}/0-2`)).rejects.toMatchObject({
      name: 'StorageError',
      message: expect.stringContaining(`${PREFIX} cannot be used: access is denied`),
    });
    expect(methods()).toEqual(['PUT']);
    proxy.use(() => undefined);
    await store(driver, `${GENERATION}/0-3`, Buffer.from('x'));
    expect(methods()).toEqual(['PUT', 'PUT', 'GET', 'GET', 'DELETE', 'PUT']);
    proxy.use(() => s3Error(404, 'NoSuchBucket'));
    await expect(driver.check()).rejects.toThrow('there is no bucket');
  });
});
