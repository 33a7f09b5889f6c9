import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, it, onTestFinished, test } from 'vitest';
import '../support/global-setup.ts';
import { createStorage } from '../../src/storage/index.ts';
import { parseS3Url } from '../../src/storage/s3-url.ts';

const PATH = 'gen_01jzx3k9q8v7w6t5s4r3p2n1mm/0-1';

describe('createStorage', () => {
  it.each([
    ['file:///srv/darkroom', '/srv/darkroom'],
    ['file://localhost/srv/darkroom', '/srv/darkroom'],
    ['file:/srv/darkroom/', '/srv/darkroom'],
    ['FILE:///srv/dark%20room', '/srv/dark room'],
    ['file:///srv/dark room', '/srv/dark room'],
    ['file:./data', resolve('data')],
    ['file:data/outputs', resolve('data/outputs')],
    ['file:../my data', resolve('../my data')],
    ['file:./my%20data%3F', resolve('my data?')],
  ])('%s', (url, folder) => {
    expect(createStorage(url).locate(PATH)).toBe(`${folder}/${PATH}`);
  });

  it.each([
    ['s3://my-bucket', 's3://my-bucket'],
    ['S3://my.bucket.1/', 's3://my.bucket.1'],
    ['s3://my-bucket/some/where_2.0/', 's3://my-bucket/some/where_2.0'],
    [
      's3://my-bucket/p?region=eu-west-1&endpoint=https%3A%2F%2Fs3.example&path_style=true',
      's3://my-bucket/p',
    ],
  ])('%s', (url, root) => {
    expect(createStorage(url).locate(PATH)).toBe(`${root}/${PATH}`);
  });

  it.each([
    ['gs://secret/x', 'unsupported form (gs:): write file:./data, file:///srv/darkroom or s3://bucket'],
    ['/srv/darkroom', 'unsupported form (no scheme): write file:./data'],
    ['', 'unsupported form (no scheme)'],
    ['file:', 'names no folder'],
    ['file:///', 'names no folder'],
    ['file:%00', 'names no folder'],
    ['file://host/share', 'is not a valid file URL'],
    ['file://./data', 'is not a valid file URL'],
    ['file:./100%', 'is not a valid file URL'],
    ['file:./a?b', 'has a bare ? or #'],
    ['file:///a#b', 'has a bare ? or #'],
    ['s3://key:secret@bucket', 'has credentials in it: take them out, and set AWS_ACCESS_KEY_ID'],
    ['s3://key:sec/secret@bucket', 'has credentials in it'],
    ['s3://', 'names no valid bucket'],
    ['s3:bucket', 'names no valid bucket'],
    ['s3:///prefix', 'names no valid bucket'],
    ['s3://Bucket', 'names no valid bucket'],
    ['s3://bucket:9000/x', 'names no valid bucket'],
    ['s3://b', 'names no valid bucket'],
    ['s3://bucket/../other', 'has a prefix that is not letters'],
    ['s3://bucket/a//b', 'has a prefix that is not letters'],
    ['s3://bucket/a%2Fb', 'has a prefix that is not letters'],
    [`s3://bucket/${'a/'.repeat(200)}`, 'has a prefix that is not letters'],
    ['s3://bucket#x', 'has a # in it'],
    [
      's3://bucket?regoin=eu&acl=secret',
      'has unknown parameters (regoin, acl): known are region, endpoint, path_style',
    ],
    ['s3://bucket?region=a&region=b', 'has region more than once'],
    ['s3://bucket?region=', 'has a region that is none'],
    ['s3://bucket?endpoint=minio:9000', 'has an endpoint that is not the origin of a server'],
    ['s3://bucket?endpoint=https://u:secret@minio', 'has an endpoint that is not the origin'],
    ['s3://bucket?endpoint=https://minio/path', 'has an endpoint that is not the origin'],
    ['s3://bucket?endpoint=ftp://minio', 'has an endpoint that is not the origin'],
    ['s3://bucket?path_style=yes', 'has a path_style that is neither true nor false'],
  ])('refuses %j', (url, message) => {
    expect(() => createStorage(url)).toThrow(message);
    expect(() => createStorage(url)).not.toThrow('secret');
  });
});

test('all parts of an s3 URL are read', () => {
  const endpoint = encodeURIComponent('http://127.0.0.1:9000/');
  expect(parseS3Url(`s3://my-bucket/a/b/?region=eu-west-1&endpoint=${endpoint}&path_style=true`)).toEqual({
    bucket: 'my-bucket',
    prefix: 'a/b',
    region: 'eu-west-1',
    endpoint: 'http://127.0.0.1:9000',
    pathStyle: true,
  });
  expect(parseS3Url('s3://my-bucket')).toEqual({
    bucket: 'my-bucket',
    prefix: '',
    region: undefined,
    endpoint: undefined,
    pathStyle: false,
  });
});

test(
  'a process that stores in a folder never loads the SDK of AWS; one that uses S3 does',
  { timeout: 60_000 },
  async () => {
    const script = `
    import { createRequire } from 'node:module';
    import { createStorage } from ${JSON.stringify(join(inject('programs'), 'storage', 'index.js'))};
    await createStorage(process.argv[1]).check().catch(() => {});
    const loaded = Object.keys(createRequire(process.cwd() + '/').cache);
    process.stdout.write(String(loaded.some((file) => file.includes('@aws-sdk'))));`;
    const loads = async (url: string) => {
      const args = ['--input-type=module', '--eval', script, url];
      return (await promisify(execFile)(process.execPath, args, { timeout: 60_000 })).stdout;
    };
    const folder = await mkdtemp(join(tmpdir(), 'darkroom-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const s3 = 's3://bucket?region=eu-west-1&endpoint=http://127.0.0.1:1';
    expect(await Promise.all([loads(`file:${folder}`), loads(s3)])).toEqual(['false', 'true']);
  },
);
