import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { createCallbackUrls } from '../../src/domain/callback-urls.ts';
import { createFileLinks } from '../../src/domain/file-links.ts';
import { newId } from '../../src/domain/ids.ts';
import { parseKeyring } from '../../src/domain/keyring.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import { freezeSubmit } from '../../src/providers/frozen-submit.ts';
import { createBflProvider } from '../../src/providers/bfl.ts';
import { createKlingProvider } from '../../src/providers/kling.ts';
import { planFor } from '../db/fixtures.ts';

const http = createOutboundHttp({ allow: [] });
afterAll(() => http.close());
afterEach(() => vi.useRealTimers());
const keyring = parseKeyring(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
const links = createFileLinks(keyring, 'https://here.example', () => Date.now());
const callbacks = createCallbackUrls(keyring, 'https://here.example');
const current = { name: 'main', apiKey: 'key' };
const kling = createKlingProvider({ http, baseUrl: 'https://kling.example' });
const route = {
  provider: 'kling',
  providerModel: 'kling-3.0',
  callbacks: true,
  params: {},
  estimatedCost: null,
};

describe('the bytes of a submission', () => {
  it('are the same at any time, with links to files in them', () => {
    const tenantId = newId('ten');
    const made = (atMs: number) => {
      vi.useFakeTimers({ toFake: ['Date'], now: atMs });
      const inputs = [
        {
          field: 'image_url',
          linkVersion: 1,
          deadlineAt: new Date(90_000_000),
          input: { id: 'inp_1', tenantId },
        },
      ];
      const generation = {
        id: `gen_${'0'.repeat(26)}`,
        input: { prompt: 'a cat', duration_seconds: 5, image_url: 'inp_1' },
        plan: { ...planFor(), method: 'image-to-video' as const, routes: [route] },
      };
      return freezeSubmit(
        { provider: kling, credential: current, callbacks, links },
        { generation, route, ordinal: 1, inputs },
      );
    };
    const [first, ...later] = [100_000, 163_777, 89_999_000].map(made);
    expect(first!.request.body).toContain('/files/inputs/inp_1?expires=93600&');
    for (const again of later) expect(again).toEqual(first);
  });

  it('SEC-1 hold a mark for the secret of its callbacks, where the provider is told one and calls back', () => {
    const provider = createBflProvider({ http, baseUrl: 'https://bfl.example' });
    const made = (calledBack: boolean) => {
      const bflRoute = { ...route, provider: 'bfl', providerModel: 'flux-2-pro', callbacks: calledBack };
      const plan = { ...planFor(), method: 'text-to-image' as const, routes: [bflRoute] };
      const generation = { id: `gen_${'0'.repeat(26)}`, input: { prompt: 'a cat' }, plan };
      const tools = { provider, credential: current, callbacks, links };
      const { request } = freezeSubmit(tools, { generation, route: bflRoute, ordinal: 1, inputs: [] });
      return JSON.parse(request.body) as unknown;
    };
    const id = `sub_${'0'.repeat(26)}_1`;
    expect(made(true)).toEqual({
      prompt: 'a cat',
      webhook_url: `https://callback.invalid/${id}`,
      webhook_secret: `https://callback-secret.invalid/${id}`,
    });
    expect(made(false)).toEqual({ prompt: 'a cat' });
  });
});
