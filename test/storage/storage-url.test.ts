import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createStorage } from '../../src/storage/index.ts';

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
    ['s3://key:secret@bucket', 'unsupported form (s3:): supported now is file:'],
    ['/srv/darkroom', 'unsupported form (no scheme): supported now is file:'],
    ['', 'unsupported form (no scheme)'],
    ['file:', 'names no folder'],
    ['file:///', 'names no folder'],
    ['file:%00', 'names no folder'],
    ['file://host/share', 'is not a valid file URL'],
    ['file://./data', 'is not a valid file URL'],
    ['file:./100%', 'is not a valid file URL'],
    ['file:./a?b', 'has a bare ? or #'],
    ['file:///a#b', 'has a bare ? or #'],
  ])('refuses %j', (url, message) => {
    expect(() => createStorage(url)).toThrow(message);
    expect(() => createStorage(url)).not.toThrow('secret');
  });
});
