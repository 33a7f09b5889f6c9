/** `POST /v1/videos` as a form: its fields, its file, and all that a body of many parts can be. */
import { describe, expect, it } from 'vitest';
import { PICTURE, useFiles } from './inputs.ts';
import { useApi } from './suite.ts';
import { newTenant, rowsOf, type TestTenant } from './tenants.ts';
import { createBytes, errorOf, formOf, sendForm, type Part } from './videos.ts';

const room = useFiles();
const suite = useApi(room.parts);
const url = () => suite.api.url;

const ANIMATE: readonly Part[] = [
  ['model', 'animate-image'],
  ['prompt', 'It sails away'],
];
const FILE: Part = ['input_reference', PICTURE];

const UTF_16 = '\r\nContent-Type: text/plain; charset=utf-16le';

const inputsOf = (tenant: TestTenant) =>
  suite.db.prisma.storedInput.findMany({ where: { tenantId: tenant.id }, orderBy: { id: 'asc' } });
/** Files that nothing works from and that stay longer than a moment. */
const kept = async (tenant: TestTenant) =>
  (await inputsOf(tenant)).filter(({ expiresAt }) => expiresAt.getTime() > Date.now() + 1_000);

describe('the fields', () => {
  it('are those of a JSON body, in any order, in UTF-8', async () => {
    const tenant = await newTenant(suite.db);
    const parts: Part[] = [
      ['seconds', '4'],
      ['prompt', 'Żółw 🐢'],
      ['model', 'infro-video'],
    ];
    const answer = await sendForm(url(), tenant, parts);
    expect(answer.json()).toMatchObject({
      status: 'queued',
      seconds: '4',
      prompt: 'Żółw 🐢',
      model: 'infro-video',
    });
  });

  it.each<[string, readonly Part[], string, string | null]>([
    [
      'a field twice',
      [
        ['model', 'infro-video'],
        ['model', 'infro-video'],
      ],
      'invalid_request',
      'model',
    ],
    [
      'an unknown field',
      [
        ['model', 'infro-video'],
        ['prompt', 'x'],
        ['n', '2'],
      ],
      'invalid_request',
      'n',
    ],
    ['a name that no object may have', [['__proto__[x]', 'y'], ...ANIMATE], 'invalid_request', '__proto__'],
    ['a file of another name', [...ANIMATE, ['image', PICTURE]], 'invalid_request', 'image'],
    ['two files', [...ANIMATE, FILE, FILE], 'malformed_form', null],
    [
      'a file and its name',
      [...ANIMATE, FILE, ['input_reference[file_id]', 'x']],
      'invalid_request',
      'input_reference',
    ],
    [
      'a file for a model that takes none',
      [['model', 'infro-video'], ['prompt', 'x'], FILE],
      'invalid_request',
      'input_reference',
    ],
    [
      'an object with two names',
      [...ANIMATE, ['input_reference[file_id]', 'x'], ['input_reference[image_url]', 'y']],
      'invalid_request',
      'input_reference',
    ],
    ['too many fields', Array.from({ length: 40 }, (_, i): Part => [`f${i}`, 'x']), 'malformed_form', null],
    [
      'a huge field',
      [
        ['model', 'infro-video'],
        ['prompt', 'x'.repeat(1_100_000)],
      ],
      'invalid_request',
      'prompt',
    ],
    [
      'much text in several fields',
      [
        ['prompt', 'x'.repeat(600_000)],
        ['size', 'x'.repeat(600_000)],
      ],
      'invalid_request',
      'size',
    ],
    [
      'NUL',
      [
        ['model', 'infro-video'],
        ['prompt', 'a\0b'],
      ],
      'invalid_request',
      'prompt',
    ],
    [
      'text and members of one name',
      [...ANIMATE, ['input_reference', 'x'], ['input_reference[image_url]', 'https://example.com/a.png']],
      'invalid_request',
      'input_reference',
    ],
    [
      'members and text of one name',
      [...ANIMATE, ['input_reference[image_url]', 'https://example.com/a.png'], ['input_reference', 'x']],
      'invalid_request',
      'input_reference',
    ],
    ['no field', [], 'unknown_model', 'model'],
    [
      'half a character in an object',
      [...ANIMATE, ['input_reference', '{"image_url":"https://example.com/boat.png#\\ud800"}']],
      'lone_surrogate',
      'input_reference.image_url',
    ],
    [
      'NUL in an object',
      [...ANIMATE, ['input_reference', '{"image_url":"https://example.com/boat.png#\\u0000"}']],
      'forbidden_character',
      'input_reference.image_url',
    ],
    [
      'a name twice in an object',
      [...ANIMATE, ['input_reference', '{"file_id":"x","file_id":"y"}']],
      'duplicate_key',
      'input_reference.file_id',
    ],
    [
      'a name that no object may have, in an object',
      [...ANIMATE, ['input_reference', '{"__proto__":{"file_id":"x"}}']],
      'forbidden_key',
      'input_reference.__proto__',
    ],
    [
      'a deep object',
      [...ANIMATE, ['input_reference', '{"file_id":'.repeat(50_000)]],
      'too_deep',
      `input_reference${'.file_id'.repeat(32)}`,
    ],
    [
      'an object without its end',
      [...ANIMATE, ['input_reference', '{"image_url":"https://example.com/boat.png"']],
      'malformed_json',
      'input_reference.image_url',
    ],
    [
      'NUL in a member',
      [...ANIMATE, ['input_reference[image_url]', 'https://example.com/boat.png#\0']],
      'invalid_request',
      'input_reference[image_url]',
    ],
    [
      'NUL in a field that knows its words',
      [
        ['model', 'infro-video\0'],
        ['prompt', 'x'],
      ],
      'invalid_request',
      'model',
    ],
  ])('refuses %s, and keeps nothing', async (_name, parts, code, param) => {
    const tenant = await newTenant(suite.db);
    const answer = await sendForm(url(), tenant, parts);
    expect(errorOf(answer)).toEqual([400, code, param]);
    expect(await rowsOf(suite.db, tenant.id)).toMatchObject({ generations: 0, held: 0 });
    expect(await kept(tenant)).toEqual([]);
  });

  it.each([
    ['bytes that are no UTF-8', '', Buffer.from([0x61, 0xff, 0x62])],
    ['a charset that nobody knows', '\r\nContent-Type: text/plain; charset=klingon', Buffer.from('x')],
    ['half a character', UTF_16, Buffer.from('a\ud800b', 'utf16le')],
    ['NUL', UTF_16, Buffer.from('a\0b', 'utf16le')],
  ])('refuses text of %s, like a JSON body', async (_name, header, text) => {
    const tenant = await newTenant(suite.db);
    const { type, bytes } = formOf([['model', 'infro-video']]);
    const part = `--b-o-u-n-d\r\nContent-Disposition: form-data; name="prompt"${header}\r\n\r\n`;
    const whole = Buffer.concat([Buffer.from(part), text, Buffer.from('\r\n'), bytes]);
    expect(errorOf(await createBytes(url(), tenant, type, whole))).toEqual([
      400,
      'invalid_request',
      'prompt',
    ]);
    expect(await rowsOf(suite.db, tenant.id)).toMatchObject({ generations: 0, held: 0 });
  });

  it('reads text of another charset that is named', async () => {
    const tenant = await newTenant(suite.db);
    const { type, bytes } = formOf([['model', 'infro-video']]);
    const part =
      '--b-o-u-n-d\r\nContent-Disposition: form-data; name="prompt"\r\nContent-Type: text/plain; charset=iso-8859-1';
    const whole = Buffer.concat([Buffer.from(`${part}\r\n\r\nh\xe9\r\n`, 'latin1'), bytes]);
    expect((await createBytes(url(), tenant, type, whole)).json()).toMatchObject({ prompt: 'hé' });
    const wide = Buffer.concat([
      Buffer.from(`--b-o-u-n-d\r\nContent-Disposition: form-data; name="prompt"${UTF_16}\r\n\r\n`),
      Buffer.from('h😊', 'utf16le'),
      Buffer.from('\r\n'),
      bytes,
    ]);
    expect((await createBytes(url(), tenant, type, wide)).json()).toMatchObject({ prompt: 'h😊' });
  });

  it.each([
    ['no Content-Disposition', 'X-Name: seconds', 'malformed_form', null],
    ['another kind', 'Content-Disposition: attachment; name="seconds"', 'malformed_form', null],
    ['a name that is no token', 'Content-Disposition: form-data; name=se(conds', 'malformed_form', null],
    [
      'text in base64',
      'Content-Disposition: form-data; name="seconds"\r\nContent-Transfer-Encoding: base64',
      'invalid_request',
      'seconds',
    ],
  ])('no field is left out in silence: %s', async (_name, header, code, field) => {
    const tenant = await newTenant(suite.db);
    const { type, bytes } = formOf([
      ['model', 'infro-video'],
      ['prompt', 'x'],
    ]);
    const part = Buffer.from(`--b-o-u-n-d\r\n${header}\r\n\r\n4\r\n`);
    const answer = await createBytes(url(), tenant, type, Buffer.concat([part, bytes]));
    expect(errorOf(answer)).toEqual([400, code, field]);
    expect(await rowsOf(suite.db, tenant.id)).toMatchObject({ generations: 0, held: 0 });
  });

  it.each([
    ['no boundary', 'multipart/form-data', Buffer.from('x')],
    ['another kind of parts', 'multipart/mixed; boundary=x', Buffer.from('--x--\r\n')],
    [
      'no end',
      'multipart/form-data; boundary=x',
      Buffer.from('--x\r\nContent-Disposition: form-data; name="model"\r\n\r\ni'),
    ],
    ['a broken header', 'multipart/form-data; boundary=x', Buffer.from('--x\r\n\0\r\n\r\ny\r\n--x--\r\n')],
    ['an empty body', 'multipart/form-data; boundary=x', Buffer.alloc(0)],
    ['an end in the file', formOf([FILE]).type, formOf([FILE]).bytes.subarray(0, 140)],
  ])('a form with %s is 400', async (_name, type, bytes) => {
    const tenant = await newTenant(suite.db);
    expect(errorOf(await createBytes(url(), tenant, type, bytes))).toEqual([400, 'malformed_form', null]);
    expect(await inputsOf(tenant)).toEqual([]);
  });
});
