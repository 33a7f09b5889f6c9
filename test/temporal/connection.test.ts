import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { temporalSettings } from '../../src/temporal/client.ts';

const folder = mkdtempSync(join(tmpdir(), 'darkroom-envconfig-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A file with this text; its path. */
function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

beforeEach(() => {
  for (const name of Object.keys(process.env).filter((variable) => variable.startsWith('TEMPORAL_')))
    vi.stubEnv(name, undefined);
  vi.stubEnv('TEMPORAL_CONFIG_FILE', file('none.toml', '[profile.default]\n'));
});
afterEach(() => vi.unstubAllEnvs());

describe('how a process reaches Temporal', () => {
  it('without settings: the default namespace, no TLS, no key', () => {
    const { namespace, connectionOptions } = temporalSettings();
    expect(namespace).toBe('default');
    expect(connectionOptions.tls).toBeUndefined();
    expect(connectionOptions.apiKey).toBeUndefined();
  });

  it('TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and TEMPORAL_API_KEY; a key turns TLS on', () => {
    vi.stubEnv('TEMPORAL_ADDRESS', 'eu-west-1.aws.api.temporal.io:7233');
    vi.stubEnv('TEMPORAL_NAMESPACE', 'darkroom.a2b3c');
    vi.stubEnv('TEMPORAL_API_KEY', 'tmprl_secret');
    expect(temporalSettings()).toMatchObject({
      namespace: 'darkroom.a2b3c',
      connectionOptions: { address: 'eu-west-1.aws.api.temporal.io:7233', apiKey: 'tmprl_secret', tls: true },
    });
  });

  it('TEMPORAL_TLS_*: certificate, key, authority and server name, from files or as data', () => {
    vi.stubEnv('TEMPORAL_TLS_CLIENT_CERT_PATH', file('client.pem', 'the certificate'));
    vi.stubEnv('TEMPORAL_TLS_CLIENT_KEY_DATA', 'the key');
    vi.stubEnv('TEMPORAL_TLS_SERVER_CA_CERT_PATH', file('ca.pem', 'the authority'));
    vi.stubEnv('TEMPORAL_TLS_SERVER_NAME', 'temporal.internal');
    const { tls } = temporalSettings().connectionOptions;
    const read = tls as {
      serverNameOverride: string;
      serverRootCACertificate: Uint8Array;
      clientCertPair: { crt: Uint8Array; key: Uint8Array };
    };
    expect(read.serverNameOverride).toBe('temporal.internal');
    expect(Buffer.from(read.serverRootCACertificate).toString()).toBe('the authority');
    expect(Buffer.from(read.clientCertPair.crt).toString()).toBe('the certificate');
    expect(Buffer.from(read.clientCertPair.key).toString()).toBe('the key');
  });

  it('a profile of the file that TEMPORAL_CONFIG_FILE names; the environment wins over it', () => {
    const toml = `
[profile.default]
address = "127.0.0.1:7233"
[profile.prod]
address = "temporal.internal:7233"
namespace = "media"
api_key = "from the file"
[profile.prod.grpc_meta]
team = "night shift"
`;
    vi.stubEnv('TEMPORAL_CONFIG_FILE', file('temporal.toml', toml));
    expect(temporalSettings().connectionOptions.address).toBe('127.0.0.1:7233');
    vi.stubEnv('TEMPORAL_PROFILE', 'prod');
    vi.stubEnv('TEMPORAL_NAMESPACE', 'media-eu');
    expect(temporalSettings()).toMatchObject({
      namespace: 'media-eu',
      connectionOptions: {
        address: 'temporal.internal:7233',
        apiKey: 'from the file',
        tls: true,
        metadata: { team: 'night shift' },
      },
    });
  });
});
