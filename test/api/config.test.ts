import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError, loadApiConfig, loadToolConfig, loadWorkerConfig } from '../../src/config.ts';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';

const firstWord = (text: string): string => text.split(' ')[0] ?? '';
const byText = (a: string, b: string): number => (a < b ? -1 : 1);

const folder = mkdtempSync(join(tmpdir(), 'darkroom-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

const KEY = Buffer.alloc(32, 1).toString('base64');
const MINIMAL = { DATABASE_URL: 'postgresql://u:s3cret-pw@h/d', KEYRING: `k1:${KEY}` };

function problems(env: Record<string, string>): readonly string[] {
  try {
    loadApiConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

function catalogueFile(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

describe('loadApiConfig', () => {
  it('needs a database and a key ring only', () => {
    expect(loadApiConfig(MINIMAL)).toMatchObject({
      port: 8080,
      host: '127.0.0.1',
      publicUrl: null,
      production: false,
      logLevel: 'info',
      storageUrl: 'file:.darkroom/outputs',
      netAllow: [],
      catalogue: DEFAULT_CATALOGUE,
    });
    expect(loadApiConfig(MINIMAL).providers).toEqual(new Map());
  });

  it('reads everything', () => {
    const config = loadApiConfig({
      ...MINIMAL,
      PORT: '0',
      HOST: '::',
      PUBLIC_URL: 'https://darkroom.example/base/',
      PROVIDER_INFRO_BASE_URL: 'http://127.0.0.1:9001/',
      PROVIDER_INFRO_API_KEY: 'sk-1',
      PROVIDER_INFRO_WEBHOOK_SECRET: 'whsec_a, whsec_b',
      NET_ALLOW: '127.0.0.1:9001',
      STORAGE_URL: 'file:///srv/out',
      LOG_LEVEL: 'debug',
    });
    expect(config).toMatchObject({
      port: 0,
      host: '::',
      publicUrl: 'https://darkroom.example/base',
      netAllow: [{ host: '127.0.0.1', port: 9001 }],
    });
    const credential = { name: 'default', apiKey: 'sk-1' };
    expect([...config.providers]).toEqual([
      [
        'infro',
        {
          baseUrl: 'http://127.0.0.1:9001',
          credentials: new Map([['default', credential]]),
          current: credential,
          webhookSecret: 'required',
          webhookSecrets: ['whsec_a', 'whsec_b'],
          submitsPerSecond: 10,
          settings: {},
        },
      ],
    ]);
    expect(loadWorkerConfig(MINIMAL)).not.toHaveProperty('port');
  });

  it('names every bad variable at once, with what to do and without any value', () => {
    const bad = {
      PORT: '80a',
      PUBLIC_URL: 'ftp://hidden-host',
      KEYRING: 'k1:c2hvcnQ=',
      LOG_LEVEL: 'loud',
      STORAGE_URL: 'http://hidden-host',
      PROVIDER_INFRO_API_KEY: '',
      PROVIDER_INFRO_WEBHOOK_SECRET: '',
      NET_ALLOW: 'nope',
      CATALOGUE_FILE: join(folder, 'missing.json'),
    };
    const found = problems(bad);
    const names = ['DATABASE_URL', ...Object.keys(bad)].sort(byText);
    expect(found.map(firstWord).sort(byText)).toEqual(names);
    expect(found.find((problem) => problem.startsWith('DATABASE_URL'))).toContain(
      'is not set: write postgresql://',
    );
    expect(found.join('\n')).not.toMatch(/hidden-host|c2hvcnQ|invalid input/i);
    expect(problems({}).map((problem) => problem.split(' ')[0])).toEqual(['DATABASE_URL', 'KEYRING']);
    expect(problems({ ...MINIMAL, DATABASE_URL: 'mysql://u:s3cret-pw@h/d' }).join()).not.toContain(
      's3cret-pw',
    );
  });

  it('B4 a signing provider with a key and no secret refuses to start, unless it is polled only', () => {
    const env = { ...MINIMAL, PROVIDER_INFRO_API_KEY: 'sk-1' };
    expect(problems(env)).toEqual([
      expect.stringMatching(/^PROVIDER_INFRO_WEBHOOK_SECRET is not set.*"callbacks": false/),
    ]);
    for (const secret of ['', ' ', 'whsec_a,', ',']) {
      expect(problems({ ...env, PROVIDER_INFRO_WEBHOOK_SECRET: secret })).toHaveLength(1);
    }
    const [, polled] = DEFAULT_CATALOGUE.models;
    const CATALOGUE_FILE = catalogueFile('polled.json', { models: [polled] });
    expect(problems({ ...env, CATALOGUE_FILE })).toEqual([]);
    expect(problems({ ...env, PROVIDER_INFRO_WEBHOOK_SECRET: 'whsec_a' })).toEqual([]);
  });

  it('OUTPUT_LINKS is ours unless told, and presigned only with a storage that can', () => {
    expect(loadApiConfig(MINIMAL).outputLinks).toBe('proxy');
    const presigned = { ...MINIMAL, OUTPUT_LINKS: 'presigned' };
    expect(loadApiConfig({ ...presigned, STORAGE_URL: 's3://bucket' }).outputLinks).toBe('presigned');
    for (const env of [presigned, { ...presigned, STORAGE_URL: 'file:./data' }]) {
      expect(problems(env)).toEqual([
        'OUTPUT_LINKS is presigned, which needs a STORAGE_URL that begins with s3:; or set it to proxy',
      ]);
    }
    expect(problems({ ...MINIMAL, OUTPUT_LINKS: 'direct' })).toEqual([
      'OUTPUT_LINKS must be one of proxy, presigned',
    ]);
  });

  it('TEMPORAL_UI_URL, TEMPORAL_CODEC_KEYS and OTEL_EXPORTER_OTLP_ENDPOINT: off unless set', () => {
    const off = { temporalUiUrl: null, codecKeys: null, tracesUrl: null };
    expect(loadApiConfig(MINIMAL)).toMatchObject(off);
    const env = {
      ...MINIMAL,
      TEMPORAL_UI_URL: 'https://temporal.example.com/',
      TEMPORAL_CODEC_KEYS: `c2:${KEY}, c1:${Buffer.alloc(32, 2).toString('base64')}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318/',
    };
    for (const config of [loadApiConfig(env), loadWorkerConfig(env)]) {
      expect(config).toMatchObject({
        temporalUiUrl: 'https://temporal.example.com',
        tracesUrl: 'http://otel:4318',
      });
      expect(config.codecKeys?.keys.map(({ id }) => id)).toEqual(['c2', 'c1']);
    }
    expect(loadToolConfig(env).codecKeys?.keys[0].id).toBe('c2');
    const bad = {
      TEMPORAL_UI_URL: 'temporal.hidden',
      TEMPORAL_CODEC_KEYS: 'c1:aGlkZGVu',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://hidden',
    };
    const found = problems({ ...MINIMAL, ...bad });
    expect(found.map(firstWord).sort(byText)).toEqual(Object.keys(bad).sort(byText));
    expect(found.join()).not.toMatch(/hidden|aGlkZGVu/);
  });

  it('WORKER_DEPLOYMENT and WORKER_BUILD_ID: both or none', () => {
    const both = { ...MINIMAL, WORKER_DEPLOYMENT: 'darkroom', WORKER_BUILD_ID: '2026-11-30' };
    expect(loadWorkerConfig(MINIMAL).deployment).toBeNull();
    expect(loadWorkerConfig(both).deployment).toEqual({ name: 'darkroom', buildId: '2026-11-30' });
    const one = { ...MINIMAL, WORKER_BUILD_ID: '2026-11-30' };
    expect(() => loadWorkerConfig(one)).toThrow(/WORKER_DEPLOYMENT and WORKER_BUILD_ID belong together/);
    expect(() => loadWorkerConfig({ ...both, WORKER_BUILD_ID: 'a.b' })).toThrow(/WORKER_BUILD_ID must be/);
  });

  it("a profile of Temporal that can't be read is named beside the others, without a line of it", () => {
    const TEMPORAL_CONFIG_FILE = join(folder, 'temporal.toml');
    const missing = { ...MINIMAL, PORT: 'x', TEMPORAL_TLS_CLIENT_CERT_PATH: join(folder, 'none.pem') };
    expect(problems({ ...missing, TEMPORAL_TLS_CLIENT_KEY_DATA: 'k' }).map(firstWord)).toEqual([
      'PORT',
      'TEMPORAL_CONFIG_FILE',
    ]);
    writeFileSync(TEMPORAL_CONFIG_FILE, '[profile.default]\napi_key = hidden');
    expect(problems({ ...MINIMAL, TEMPORAL_CONFIG_FILE })).toEqual([
      'TEMPORAL_CONFIG_FILE is not valid: it needs a table [profile.NAME] of the name in TEMPORAL_PROFILE',
    ]);
  });

  it('production refuses an allow-list that opens local addresses', () => {
    const env = { ...MINIMAL, NODE_ENV: 'production', NET_ALLOW: '127.0.0.1:9001' };
    expect(problems(env)).toEqual([expect.stringContaining('127.0.0.1:9001')]);
  });

  it('a bad catalogue is named by the path of the field', () => {
    const [model] = DEFAULT_CATALOGUE.models;
    const cases: [string, unknown, RegExp][] = [
      ['syntax.json', '{"models":', / is not valid JSON/],
      ['empty.json', { models: [] }, / models: /],
      [
        'type.json',
        { models: [{ ...model, price: { ...model!.price, per: 'minute' } }] },
        / models\[0\]\.price\.per: /,
      ],
      ['extra.json', { models: [{ ...model, color: 1 }] }, / models\[0\]\.color: there is no such field/],
      ['twice.json', { models: [model, model] }, / models\[1\]\.id: "infro-video" is there twice/],
      [
        'huge.json',
        {
          models: [
            { ...model, price: { per: 'second', rates: [{ millicredits: Number.MAX_SAFE_INTEGER }] } },
          ],
        },
        / models\[0\]\.price\.rates\[0\]\.millicredits: /,
      ],
      [
        'order.json',
        { models: [{ ...model, deadlineSeconds: { default: 900, max: 899 } }] },
        / models\[0\]\.deadlineSeconds: /,
      ],
    ];
    for (const [name, content, expected] of cases) {
      const file = catalogueFile(name, content);
      const [problem, ...others] = problems({ ...MINIMAL, CATALOGUE_FILE: file });
      expect(others).toEqual([]);
      expect(problem?.slice(0, `CATALOGUE_FILE ${file}:1 `.length)).toBe(`CATALOGUE_FILE ${file}:1 `);
      expect(problem).toMatch(expected);
    }
  });
});
