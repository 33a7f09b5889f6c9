import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { isWatchable, type Route } from '../../src/api/route.ts';
import { ROUTES } from '../../src/api/routes/index.ts';
import { makeWatchToken } from '../../src/domain/watch-token.ts';
import { testKeyring } from './api.ts';
import { send, type Answer } from './client.ts';
import { useFiles } from './files.ts';
import { event, signature } from './infro.ts';
import {
  BODIES,
  everything,
  INNER,
  MAKES_ITS_OBJECT,
  NO_OBJECT,
  OPERATOR_KINDS,
  PROVED,
  TENANT_KINDS,
  type Belongings,
  type Kind,
} from './matrix-objects.ts';
import { codeOf } from './suite.ts';
import { get, newOperator, readBalance } from './tenants.ts';

const suite = useFiles();

let mine: Belongings;
let theirs: Belongings;
let operatorKey: string;
beforeAll(async () => {
  [mine, theirs] = await Promise.all([everything(suite), everything(suite)]);
  operatorKey = (await newOperator(suite.db)).key;
});

interface Case {
  readonly name: string;
  readonly route: Route;
}
/** Named in full, which `$name` would cut. */
const named = (cases: readonly Case[]) => cases.map((each) => [each.name, each] as const);
const withIds: readonly Case[] = ROUTES.filter(({ path }) => path.includes('{')).map((route) => ({
  name: `${route.method} ${route.path}`,
  route,
}));
const isOpen = ({ auth }: Route) => auth === 'link' || auth === 'callback' || auth === 'none';
const tenantRoutes = withIds.filter(({ route }) => !isOpen(route) && route.auth !== 'operator');
const operatorRoutes = withIds.filter(({ route }) => route.auth === 'operator');
/** Whose object must be there, and is not made by the call. */
const isFound = ({ name }: Case) => !MAKES_ITS_OBJECT.has(name);
const openRoutes = withIds.filter(({ route }) => isOpen(route));

function kindOf(kinds: Readonly<Record<string, Kind>>, { path }: Route): Kind {
  const [, start = ''] = /^([^}]*\})/.exec(path) ?? [];
  const kind = kinds[start];
  if (kind === undefined) throw new Error(`${start} has no line in test/api/matrix-objects.ts`);
  return kind;
}

/** The path with this at its first parameter. */
function pathOf({ path }: Route, first: string): string {
  const [start = '', ...rest] = path.split(/(?<=\})/);
  const filled = rest.map((part) =>
    part.replace(/\{(\w+)\}/, (_, name: string) => {
      const value = INNER[name];
      if (value === undefined) throw new Error(`{${name}} has no line in test/api/matrix-objects.ts`);
      return value;
    }),
  );
  return [start.replace(/\{\w+\}/, first), ...filled].join('');
}

function call({ name, route }: Case, key: string, first: string): Promise<Answer> {
  const takesBody = route.method !== 'get' && route.method !== 'delete';
  if (takesBody && BODIES[name] === undefined)
    throw new Error(`${name} has no line in test/api/matrix-objects.ts`);
  const body = BODIES[name] ?? null;
  return send(suite.api.url, {
    method: route.method.toUpperCase(),
    path: pathOf(route, first),
    headers: {
      Authorization: `Bearer ${key}`,
      'X-Request-Id': 'same',
      'Idempotency-Key': 'matrix',
      ...(body === null ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  });
}

/** All of an answer but its time. */
function whole({ status, headers, text }: Answer): string {
  return JSON.stringify({ status, headers: { ...headers, date: null }, text });
}

/** What can't be an id, or is one with something changed. */
const malformed = (own: string) => [
  'x',
  'x'.repeat(500),
  '%00',
  `${own}x`,
  own.slice(0, -1),
  `${own}%20`,
  `..%2f${own}`,
];

it('API1 every route with an id has its case here', () => {
  expect(withIds.length).toBeGreaterThan(20);
  for (const { route } of tenantRoutes) expect(() => kindOf(TENANT_KINDS, route)).not.toThrow();
  for (const { route } of operatorRoutes) expect(() => kindOf(OPERATOR_KINDS, route)).not.toThrow();
  const open = openRoutes.map(({ name }) => name).filter((name) => !NO_OBJECT.has(name));
  expect(open.sort()).toEqual(Object.keys(PROVED).sort());
});

describe('API1 another tenant’s, an unknown and a malformed id are one answer, byte for byte', () => {
  it.each(named(tenantRoutes.filter(isFound)))('%s', async (_name, each) => {
    const kind = kindOf(TENANT_KINDS, each.route);
    const [own, other] = [kind.of(mine), kind.of(theirs)];
    const answers = await Promise.all(
      [other, kind.unknown, ...malformed(own)].map((id) => call(each, mine.tenant.key, id)),
    );
    expect(new Set(answers.map(whole)).size).toBe(1);
    expect(codeOf(answers[0]!)).toEqual([404, kind.code]);
  });

  it.each(named(tenantRoutes.filter((each) => !isFound(each))))(
    '%s makes an object of one’s own',
    async (_name, each) => {
      const account = kindOf(TENANT_KINDS, each.route).of(theirs);
      const before = await readBalance(suite.api.url, theirs.tenant, account);
      expect((await call(each, mine.tenant.key, account)).status).toBe(201);
      expect(await readBalance(suite.api.url, mine.tenant, account)).toMatchObject({ granted: 1 });
      expect(await readBalance(suite.api.url, theirs.tenant, account)).toEqual(before);
      // A key of the other tenant is a key of its own, too.
      expect((await call(each, theirs.tenant.key, account)).headers['idempotent-replayed']).toBeUndefined();
    },
  );

  it.each(named(operatorRoutes))('%s: for operators', async (_name, each) => {
    const kind = kindOf(OPERATOR_KINDS, each.route);
    const answers = await Promise.all(
      [kind.unknown, ...malformed(kind.unknown)].map((id) => call(each, operatorKey, id)),
    );
    expect(new Set(answers.map(whole)).size).toBe(1);
    expect(codeOf(answers[0]!)).toEqual([404, kind.code]);
  });

  it.each(named(operatorRoutes))('%s: a tenant’s key learns nothing', async (_name, each) => {
    const kind = kindOf(OPERATOR_KINDS, each.route);
    const answers = await Promise.all(
      [kind.of(mine), kind.of(theirs), kind.unknown, ...malformed(kind.unknown)].map((id) =>
        call(each, mine.tenant.key, id),
      ),
    );
    expect(new Set(answers.map(whole)).size).toBe(1);
    expect(codeOf(answers[0]!)).toEqual([403, 'scope_missing']);
  });

  it.each(named(openRoutes.filter(({ name }) => PROVED[name] !== undefined)))(
    '%s',
    async (name, { route }) => {
      const { own, refused } = PROVED[name]!(mine, theirs);
      const body = event('job-of-the-matrix');
      const open = (path: string) =>
        send(suite.api.url, {
          method: route.method.toUpperCase(),
          path,
          headers: {
            'X-Request-Id': 'same',
            ...(route.auth === 'callback' ? { 'INFRO-Signature': signature(body) } : {}),
          },
          ...(route.method === 'get' ? {} : { body }),
        });
      const answers = await Promise.all(refused.map(open));
      expect(new Set(answers.map(whole)).size).toBe(1);
      expect(answers[0]!.status).toBe(route.auth === 'link' ? 403 : 401);
      expect((await open(own)).status).toBe(200);
    },
  );
});

describe('API1 what others tried changed nothing, and one’s own is found', () => {
  const reads = tenantRoutes.filter(
    ({ name, route }) => name === `get ${route.path}` && TENANT_KINDS[route.path],
  );

  it.each(named(reads))(
    '%s shows the same after every route was tried with another key',
    async (_name, read) => {
      // Links turn every 15 minutes: the last turn was just now.
      suite.clock.aheadMs = 900_000 - (Date.now() % 900_000) + 1;
      onTestFinished(() => void (suite.clock.aheadMs = 0));
      const kind = TENANT_KINDS[read.route.path]!;
      const before = await call(read, theirs.tenant.key, kind.of(theirs));
      expect(before.status).toBe(200);
      const tried = tenantRoutes.filter(({ route }) => route.path.startsWith(read.route.path));
      await Promise.all(tried.map((each) => call(each, mine.tenant.key, kind.of(theirs))));
      expect((await call(read, theirs.tenant.key, kind.of(theirs))).text).toBe(before.text);
    },
  );

  // Last, since some of them delete it: reads first.
  const order = ['get', 'put', 'patch', 'post', 'delete'];
  const ordered = [...tenantRoutes.filter(isFound), ...operatorRoutes].sort(
    (a, b) => order.indexOf(a.route.method) - order.indexOf(b.route.method),
  );
  it.each(named(ordered))('%s', async (_name, each) => {
    const isOperator = each.route.auth === 'operator';
    const kind = kindOf(isOperator ? OPERATOR_KINDS : TENANT_KINDS, each.route);
    const answer = await call(each, isOperator ? operatorKey : mine.tenant.key, kind.of(mine));
    // 409 = found, but it has ended.
    expect([200, 201, 202, 302, 409]).toContain(answer.status);
  });
});

describe('WHO a watch token is of one generation', () => {
  it.each(named(withIds.filter(({ route }) => isWatchable(route))))('%s', async (_name, { route }) => {
    const deadlineAt = new Date(Date.now() + 60_000).toISOString();
    const tokenOf = ({ tenant, generation: id }: Belongings, keyring = testKeyring()) =>
      makeWatchToken(keyring, { tenantId: tenant.id, id, deadlineAt }, Date.now()) ?? '';
    const watch = (id: string, token: string) =>
      send(suite.api.url, {
        path: `${pathOf(route, id)}?watch_token=${token}`,
        headers: { 'X-Request-Id': 'same' },
      });
    const own = tokenOf(mine);
    const tries: [id: string, token: string][] = [
      [mine.generation, tokenOf(theirs)],
      [theirs.generation, own],
      [TENANT_KINDS['/v1/generations/{id}']!.unknown, own],
      ['gen_short', own],
      [mine.generation, `${own}x`],
      [mine.generation, ''],
      [mine.generation, tokenOf(mine, testKeyring('k1', 9))],
      [mine.generation, tokenOf({ ...mine, tenant: theirs.tenant })],
    ];
    const answers = await Promise.all(tries.map(([id, token]) => watch(id, token)));
    expect(codeOf(answers.at(-1)!)[0]).not.toBe(200);
    const refused = answers.slice(0, -1);
    expect(new Set(refused.map(whole)).size).toBe(1);
    expect(codeOf(refused[0]!)).toEqual([401, 'watch_token_invalid']);
    expect((await watch(mine.generation, own)).status).toBe(200);
  });
});

describe('API1 a list shows the own tenant’s rows only', () => {
  const lists = ROUTES.filter(
    ({ method, path, auth }) =>
      method === 'get' && !path.includes('{') && path.startsWith('/v1/') && auth !== 'operator',
  );
  const marksOf = ({ generation, input, endpoint, delivery, account, tenant }: Belongings) => [
    generation,
    input,
    endpoint,
    delivery,
    account,
    tenant.id,
  ];
  /** What a list may be narrowed to; with something of another tenant nothing is left. */
  const FILTERS: Readonly<Record<string, (of: Belongings) => readonly string[]>> = {
    '/v1/generations': ({ account }) => [`account=${account}`],
    '/v1/webhook-deliveries': ({ endpoint, generation }) => [
      `endpoint=${endpoint}`,
      `generation=${generation}`,
    ],
  };
  /** The same for all, or without rows. */
  const COMMON = new Set(['/v1/models', '/v1/credits']);

  it.each(lists.map(({ path }) => path))('%s', async (path) => {
    const { text } = await get(suite.api.url, theirs.tenant, path);
    for (const mark of marksOf(mine)) expect(text).not.toContain(mark);
    if (COMMON.has(path)) return;
    expect(marksOf(theirs).some((mark) => text.includes(mark))).toBe(true);
    for (const filter of FILTERS[path]?.(mine) ?? []) {
      const filtered = await get(suite.api.url, theirs.tenant, `${path}?${filter}`);
      expect([filtered.status, filtered.json()['data']]).toEqual([200, []]);
    }
    const cursor = (await get(suite.api.url, mine.tenant, `${path}?limit=1`)).json()['next_cursor'];
    if (typeof cursor !== 'string') return;
    const page = await get(suite.api.url, theirs.tenant, `${path}?after=${cursor}`);
    expect(page.status).toBe(200);
    for (const mark of marksOf(mine)) expect(page.text).not.toContain(mark);
  });
});
