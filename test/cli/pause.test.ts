import { afterEach, describe, expect, it } from 'vitest';
import { claimSubmission } from '../../src/db/index.ts';
import { useDatabase } from '../db/database.ts';
import { claimOf, create, newTenant } from '../db/fixtures.ts';
import { commandsOn, jsonOf } from './run.ts';

const test = useDatabase();
const darkroom = commandsOn({ databaseUrl: () => test.url });
const BY = ['--reason', 'ticket 4711', '--actor', 'ann'];
const list = async () => jsonOf(await darkroom('pause', 'list', '--json')) as { target: string }[];

afterEach(() => test.db.prisma.pause.deleteMany());

describe('darkroom pause and resume', () => {
  it('a provider: shown with who and why, the second keeps the first, and what waited goes on', async () => {
    const id = await create(test.db, await newTenant(test.db));
    expect((await darkroom('pause', 'list')).stdout).toBe('Nothing is paused.\n');
    const first = await darkroom('pause', 'provider', 'infro', ...BY);
    expect([first.code, first.stdout]).toEqual([
      0,
      'provider infro is paused: models with another provider go on there, the others wait\n',
    ]);
    expect(await claimSubmission(test.db, claimOf(id))).toMatchObject({ reason: 'provider_paused' });
    expect(jsonOf(await darkroom('pause', 'provider', 'infro', '--reason', 'mine', '--json'))).toEqual({
      outcome: 'already_paused',
      dry_run: false,
      pause: {
        kind: 'provider',
        target: 'infro',
        reason: 'ticket 4711',
        actor: 'cli:ann',
        created_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      },
    });
    expect((await darkroom('pause', 'provider', 'infro', '--reason', 'mine')).stdout).toMatch(
      /^provider infro is paused already, since \d{4}-\S+Z by cli:ann: ticket 4711\n$/,
    );
    expect((await darkroom('pause', 'list')).stdout).toMatch(
      /^kind +target +since +by +reason\nprovider +infro +\d{4}-\S+Z +cli:ann +ticket 4711\n$/,
    );
    const resumed = await darkroom('resume', 'provider', 'infro', '--reason', 'they are back');
    expect([resumed.code, resumed.stdout]).toEqual([
      0,
      'provider infro is resumed: 1 waiting generations go on\n',
    ]);
    expect((await darkroom('resume', 'provider', 'infro', ...BY)).stdout).toBe(
      'provider infro is not paused.\n',
    );
    expect((await claimSubmission(test.db, claimOf(id))).outcome).toBe('send');
  });

  it('a model and a tenant; a dry run tells the same and changes nothing', async () => {
    const { id } = await newTenant(test.db);
    for (const [kind, target] of [
      ['model', 'infro-video'],
      ['tenant', id],
    ] as const) {
      const tried = await darkroom('pause', kind, target, '--dry-run', ...BY);
      expect(tried.stdout).toMatch(
        new RegExp(`^${kind} ${target} would be paused: .*; nothing was changed\n$`),
      );
      expect(await list()).toEqual([]);
      await darkroom('pause', kind, target, ...BY);
      expect(jsonOf(await darkroom('resume', kind, target, '--dry-run', '--json', ...BY))).toMatchObject({
        outcome: 'resumed',
        dry_run: true,
        pause: { kind, target },
        generations_due: 0,
      });
      expect((await list()).map((pause) => pause.target)).toEqual([target]);
      await darkroom('resume', kind, target, ...BY);
      expect(await list()).toEqual([]);
    }
    const actions = await test.db.prisma.operatorAction.findMany({
      where: { tenantId: id },
      orderBy: { id: 'asc' },
    });
    expect(actions.map(({ kind, actor }) => [kind, actor])).toEqual([
      ['pause', 'cli:ann'],
      ['resume', 'cli:ann'],
    ]);
  });

  it.each([
    ['provider', 'klng', /kling/],
    ['model', 'infro-vidoe', /infro-video/],
    ['tenant', 'ten_none', /darkroom tenant list/],
  ])('an unknown %s is refused, with what there is', async (kind, target, known) => {
    for (const verb of ['pause', 'resume']) {
      const ran = await darkroom(verb, kind, target, ...BY);
      expect([ran.code, ran.stdout]).toEqual([1, '']);
      expect(ran.stderr).toContain(`There is no ${kind} "${target}"`);
      expect(ran.stderr).toMatch(known);
    }
    expect(await list()).toEqual([]);
  });

  it('needs a reason', async () => {
    for (const verb of ['pause', 'resume']) {
      expect((await darkroom(verb, 'provider', 'infro')).code).toBe(2);
      expect((await darkroom(verb, 'provider', 'infro', '--reason', ' ')).code).toBe(2);
    }
    expect(await list()).toEqual([]);
  });

  it('darkroom providers shows it', async () => {
    await darkroom('pause', 'provider', 'runway', ...BY);
    const listed = jsonOf(await darkroom('providers', '--json')) as { name: string; today: object }[];
    expect(listed.find(({ name }) => name === 'runway')?.today).toMatchObject({
      paused: { reason: 'ticket 4711', actor: 'cli:ann' },
    });
    expect(listed.find(({ name }) => name === 'kling')?.today).toMatchObject({ paused: null });
    expect((await darkroom('providers')).stdout).toMatch(/^runway .* since \S+Z by cli:ann: ticket 4711$/m);
  });
});
