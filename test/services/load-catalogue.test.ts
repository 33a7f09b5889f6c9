import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { loadCatalogue, parseCatalogue } from '../../src/services/load-catalogue.ts';
import { fileOf, problemsIn, writtenModel } from './catalogue-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'darkroom-catalogue-'));
afterAll(() => rmSync(folder, { recursive: true }));

function written(text: string | Buffer): string {
  const file = join(folder, 'models.json');
  writeFileSync(file, text);
  return file;
}

describe('loadCatalogue', () => {
  it('is the default catalogue without a file', () => {
    expect(loadCatalogue(undefined)).toEqual({ catalogue: DEFAULT_CATALOGUE });
  });

  it('is the catalogue of a file, also of one that an editor began with a byte order mark', () => {
    const loaded = loadCatalogue(written(fileOf(writtenModel())));
    expect(loaded).toMatchObject({ catalogue: { models: [{ id: 'my-video' }] } });
    expect(loadCatalogue(written(`\ufeff${fileOf(writtenModel())}`))).toEqual(loaded);
  });

  it('reads the default catalogue back from a file, so that it can be the start of an own one', () => {
    const file = written(JSON.stringify(DEFAULT_CATALOGUE));
    expect(loadCatalogue(file)).toEqual({ catalogue: DEFAULT_CATALOGUE });
  });

  it('says that a file is not there, or is a folder', () => {
    const file = join(folder, 'nothing.json');
    expect(loadCatalogue(file)).toEqual({
      problems: [`"${file}" could not be read (ENOENT): name a readable JSON file, or leave it unset.`],
    });
    expect(loadCatalogue(folder)).toEqual({
      problems: [`"${folder}" could not be read (EISDIR): name a readable JSON file, or leave it unset.`],
    });
  });

  it('names the file in its problems', () => {
    const file = written('{');
    expect(loadCatalogue(file)).toEqual({
      problems: [`${file}:1 is not valid JSON (close brace expected)`],
    });
  });
});

describe('parseCatalogue: broken JSON, by its line', () => {
  it.each([
    ['{\n  "models": [\n', 3, 'close bracket expected'],
    ['{\n  "models": [\n    { "id": nope }\n  ]\n}', 3, 'invalid symbol'],
    ['{\n  "models": [],\n}', 3, 'property name expected'],
    ['{\n  // mine\n  "models": []\n}', 2, 'invalid comment token'],
    ['{\n  "models": "\n}', 2, 'unexpected end of string'],
    ['{}\n{}', 2, 'end of file expected'],
    ['{\n\t"models" []\n}', 2, 'colon expected'],
    ["{'models': []}", 1, 'invalid symbol'],
  ])('%j', (text, line, why) => {
    expect(problemsIn(text)).toEqual([`models.json:${line} is not valid JSON (${why})`]);
  });

  it.each(['', '\n \n'])('%j is empty', (text) => {
    expect(problemsIn(text)).toEqual(['models.json:1 is empty']);
  });

  it.each([
    ['[]', 'Invalid input: expected object, received array'],
    ['null', 'Invalid input: expected object, received null'],
    ['5', 'Invalid input: expected object, received number'],
  ])('%s is JSON, yet no catalogue', (text, why) => {
    expect(problemsIn(text)).toEqual([`models.json:1 (whole file): ${why}`]);
  });

  it('{} has no models', () => {
    expect(problemsIn('{}')).toEqual(['models.json:1 models: is missing']);
  });
});

describe('parseCatalogue: a key that is there twice', () => {
  const good = fileOf(writtenModel());

  it('is found where JSON.parse would keep the last one in silence', () => {
    const text = good.replace('"millicredits": 20000', '"millicredits": 20000, "millicredits": 2');
    expect(problemsIn(text)).toEqual([
      'models.json:38 models[0].price.rates[0].millicredits: is there twice',
    ]);
    expect(text.split('\n')[37]).toContain('"millicredits": 20000');
  });

  it('also at the top, also when it is equal, and however often', () => {
    const twice = `${good.slice(0, -2)},\n"models": []}`;
    expect(problemsIn(twice)).toContain('models.json:2 models: is there twice');
    const thrice = good.replace(
      '"title": "My video"',
      Array.from({ length: 3 }, () => '"title": "T"').join(','),
    );
    expect(problemsIn(thrice)).toEqual(
      Array.from({ length: 2 }, () => 'models.json:5 models[0].title: is there twice'),
    );
  });

  it('equal keys of two objects are not the same key', () => {
    expect(problemsIn(fileOf(writtenModel(), writtenModel({ id: 'other' })))).toEqual([]);
    expect(parseCatalogue(good, 'models.json')).toMatchObject({
      catalogue: { models: [{ id: 'my-video' }] },
    });
  });
});
