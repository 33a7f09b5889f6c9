import busboy from 'busboy';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SubmitJob } from '../../src/domain/provider.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import { formData } from '../../src/providers/form-data.ts';
import { createProviders } from '../../src/providers/index.ts';

const http = createOutboundHttp({ allow: [] });
const build = (over: Partial<SubmitJob>, settings: Readonly<Record<string, string>> = {}) =>
  createProviders({ http, providers: new Map([['openaivideos', { settings }]]) })
    .get('openaivideos')!
    .buildSubmit({
      method: 'text-to-video',
      providerModel: 'sora-2',
      input: { prompt: 'tide over black sand' },
      params: {},
      callbackUrl: null,
      idempotencyKey: 'key-1',
      ...over,
    });
const json = (over: Partial<SubmitJob>, settings: Readonly<Record<string, string>> = {}) =>
  JSON.parse(build(over, { SUBMIT_FORMAT: 'json', ...settings }).body) as unknown;

/** The fields as another reader than ours sees them. */
function fieldsIn({ contentType, body }: { readonly contentType: string; readonly body: string }) {
  return new Promise<[string, string][]>((resolve, reject) => {
    const fields: [string, string][] = [];
    const parser = busboy({
      headers: { 'content-type': contentType },
      defParamCharset: 'utf8',
      limits: { fieldSize: 64 * 1024 * 1024 },
    });
    parser.on('field', (name, value) => fields.push([name, value]));
    parser.on('file', (name) => reject(new Error(`${name} is a file`)));
    parser.on('error', reject);
    parser.on('close', () => resolve(fields));
    parser.end(Buffer.from(body));
  });
}

describe('the body of a submit', () => {
  test('a form, as OpenAI asks for it', async () => {
    const input = { prompt: 'tide', duration_seconds: 8, resolution: '720p', aspect_ratio: '9:16' };
    const request = build({ input });
    expect(request).toMatchObject({ method: 'POST', path: '/v1/videos' });
    const [, boundary = ''] =
      /^multipart\/form-data; boundary=(darkroom-[0-9a-f]{40})$/.exec(request.contentType) ?? [];
    const part = (name: string, value: string) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    expect(request.body).toBe(
      `${part('model', 'sora-2')}${part('prompt', 'tide')}${part('seconds', '8')}${part('size', '720x1280')}--${boundary}--\r\n`,
    );
    expect(await fieldsIn(request)).toHaveLength(4);
  });

  test('the same job gives the same bytes, another key another boundary', () => {
    expect(build({})).toEqual(build({}));
    expect(build({ idempotencyKey: 'key-2' }).contentType).not.toBe(build({}).contentType);
  });

  test('JSON: seconds are a text', () => {
    expect(json({ input: { prompt: 'tide', duration_seconds: 8 } })).toEqual({
      model: 'sora-2',
      prompt: 'tide',
      seconds: '8',
    });
    expect(build({}, { SUBMIT_FORMAT: 'json' }).contentType).toBe('application/json');
  });

  test.each([
    [{ resolution: '1280x720' }, '1280x720'],
    [{ aspect_ratio: '1024x1792' }, '1024x1792'],
    [{ resolution: '720p' }, '1280x720'],
    [{ aspect_ratio: '9:16' }, '720x1280'],
    [{ resolution: '1024p', aspect_ratio: '16:9' }, '1792x1024'],
    [{ resolution: '1080p', aspect_ratio: '9:16' }, '1080x1920'],
  ])('size: %o is %s', (given, size) => {
    expect(json({ input: { prompt: 'x', ...given } })).toMatchObject({ size });
  });

  test.each([
    { resolution: '8k' },
    { aspect_ratio: '21:9' },
    { resolution: '1280x720', aspect_ratio: '16:9' },
    { resolution: 'constructor', aspect_ratio: 'name' },
  ])('no size for %o', (given) => {
    expect(() => build({ input: { prompt: 'x', ...given } })).toThrow(/no size for .*correct the catalogue/);
  });

  test('an image: as an object or as a text, in a form with brackets', async () => {
    const image = {
      method: 'image-to-video' as const,
      input: { prompt: 'waves', image_url: 'https://example.com/a.png' },
    };
    expect(json(image)).toMatchObject({ input_reference: { image_url: 'https://example.com/a.png' } });
    expect(json(image, { INPUT_REFERENCE: 'text' })).toMatchObject({
      input_reference: 'https://example.com/a.png',
    });
    expect(await fieldsIn(build(image))).toContainEqual([
      'input_reference[image_url]',
      'https://example.com/a.png',
    ]);
    expect(await fieldsIn(build(image, { INPUT_REFERENCE: 'text' }))).toContainEqual([
      'input_reference',
      'https://example.com/a.png',
    ]);
    expect(() => build({ ...image, method: 'text-to-video' })).toThrow(/image_url/);
  });

  test('a route writes fields in its own way, and adds members', () => {
    const params = {
      $fields: {
        duration_seconds: 'duration',
        aspect_ratio: 'aspect_ratio',
        image_url: 'image',
        resolution: 'resolution',
      },
      provider: { options: ['a'] },
    };
    const input = {
      image_url: 'https://example.com/a.png',
      prompt: 'x',
      duration_seconds: 6,
      resolution: '1080p',
      aspect_ratio: '1:1',
      seed: 7,
    };
    expect(json({ method: 'image-to-video', input, params })).toEqual({
      model: 'sora-2',
      prompt: 'x',
      duration: 6,
      resolution: '1080p',
      aspect_ratio: '1:1',
      image: 'https://example.com/a.png',
      seed: 7,
      provider: { options: ['a'] },
    });
  });

  test('params may not set what the adapter sets, nor hold null in a form', () => {
    expect(() => build({ params: { prompt: 'mine' } })).toThrow(/"prompt"/);
    expect(() => build({ params: { model: 'mine' } })).toThrow(/"model"/);
    expect(() => build({ params: { extra: null } })).toThrow(/"extra"/);
    expect(json({ params: { extra: null } })).toMatchObject({ extra: null });
  });

  test('our URL stands in the member that is configured, or nowhere', async () => {
    const callbackUrl = 'https://callback.invalid/sub_1';
    const settings = { CALLBACK_MEMBER: 'webhook_url' };
    expect(json({ callbackUrl }, settings)).toMatchObject({ webhook_url: callbackUrl });
    expect(await fieldsIn(build({ callbackUrl }, settings))).toContainEqual(['webhook_url', callbackUrl]);
    expect(build({ callbackUrl: null }, settings).body).not.toContain('webhook_url');
    expect(build({ callbackUrl }).body).not.toContain('callback.invalid');
  });
});

describe('a form', () => {
  const CRLF = /[\r\n]/;

  test('whatever the texts are, a reader sees exactly them', async () => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\r\n', '--', '\r\n--', '"', ' \n'));
    await fc.assert(
      fc.asyncProperty(text, text, fc.string(), async (one, two, key) => {
        const form = formData({ a: `${one}${two}`, b: two }, key);
        expect(form).toEqual(formData({ b: two, a: `${one}${two}` }, key));
        expect(await fieldsIn(form)).toEqual([
          ['a', `${one}${two}`],
          ['b', two],
        ]);
      }),
      { numRuns: 100 },
    );
  });

  test('a boundary that the content holds is not taken', async () => {
    const [, boundary = ''] = /boundary=(.+)$/.exec(formData({ a: '' }, 'k').contentType) ?? [];
    const evil = `--${boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\nother\r\n--${boundary}--`;
    const form = formData({ prompt: evil }, 'k');
    expect(form.contentType).not.toContain(boundary);
    expect(await fieldsIn(form)).toEqual([['prompt', evil]]);
  });

  test('a name ends neither its quotes nor its line', () => {
    const name = 'a"\r\nX-Evil: 1\r\n\r\nb';
    const { body } = formData({ [name]: 'v' }, 'k');
    const [, header = '', blank] = body.split('\r\n');
    expect(header).toBe('Content-Disposition: form-data; name="a%22%0D%0AX-Evil: 1%0D%0A%0D%0Ab"');
    expect(header).not.toMatch(CRLF);
    expect(blank).toBe('');
  });

  test('lists and objects in brackets, as the openai SDK writes them', async () => {
    expect(await fieldsIn(formData({ b: [1, true, { c: 'x' }], a: { z: '1', y: { n: 2.5 } } }, 'k'))).toEqual(
      [
        ['a[y][n]', '2.5'],
        ['a[z]', '1'],
        ['b[]', '1'],
        ['b[]', 'true'],
        ['b[][c]', 'x'],
      ],
    );
  });

  test('a file put in later, as a data: URI, leaves the form whole', async () => {
    const mark = 'https://input.invalid/sub_1/image_url';
    const form = formData({ input_reference: { image_url: mark }, prompt: 'x' }, 'k');
    const uri = `data:image/png;base64,${Buffer.alloc(700_000, 7).toString('base64')}`;
    expect(await fieldsIn({ ...form, body: form.body.replace(mark, uri) })).toEqual([
      ['input_reference[image_url]', uri],
      ['prompt', 'x'],
    ]);
  });
});
