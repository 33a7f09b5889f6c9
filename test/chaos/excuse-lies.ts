import * as lies from './lies.ts';
import { lie, type Lie } from './lies.ts';

const nothing: Lie['plant'] = () => Promise.resolve({});

/** For each excuse of struck.ts and of runs: faults beside a lie that do not explain it. */
export const UNEXCUSED_LIES: readonly Lie[] = [
  lie(
    'a lost job, and its provider loses the answers of others only',
    ['every job is known'],
    'lost',
    lies.beside(nothing, () => ({
      providerFaults: { crazyrouter: [{ kind: 'reset_after_accept', match: { prompt: 'another' } }] },
    })),
  ),
  lie(
    'a lost job, and its provider failed in another way',
    ['every job is known'],
    'lost',
    lies.beside(nothing, () => ({ providerFaults: { crazyrouter: [{ kind: 'missing_id' }] } })),
  ),
  lie(
    'a lost job, and faults of others and at other times',
    ['every job is known'],
    'lost',
    lies.beside(nothing, (atMs) => ({
      providerFaults: {},
      disturbed: [
        { link: 'infro', fromMs: 0, toMs: atMs },
        { link: 'crazyrouter', fromMs: atMs, toMs: atMs },
      ],
      deaths: [{ slot: 'worker-1', atMs }],
      struck: [{ name: 'postgres', detail: 'kill', fromMs: 0, toMs: atMs }],
    })),
  ),
  lie(
    'its run was terminated, and we ended another one',
    ['no run fails'],
    'fal',
    lies.beside(
      lies.run('fal', () => 'nothing', true),
      (atMs) => ({
        endedRuns: ['another'],
        struck: [{ name: 'reset', detail: 'terminate', fromMs: 0, toMs: atMs }],
      }),
    ),
  ),
  lie(
    'a file that no row names, and no worker died after it',
    ['every file has its row'],
    'infro',
    lies.beside(
      lies.newFile((ids) => `${ids.infro}/7-1`),
      (atMs) => ({
        deaths: [
          { slot: 'api-1', atMs },
          { slot: 'worker-1', atMs: atMs - 5_000 },
          { slot: 'worker-2', atMs: atMs + 60_000 },
        ],
        disturbed: [{ link: 'database of api-1', fromMs: 0, toMs: atMs }],
        struck: [{ name: 'postgres', detail: 'kill', fromMs: 0, toMs: atMs - 5_000 }],
      }),
    ),
  ),
  lie(
    'a temporary file, and nobody died after it',
    ['no temporary file is left'],
    null,
    lies.beside(
      lies.newFile(() => 'tmp/left'),
      (atMs) => ({
        deaths: [{ slot: 'worker-1', atMs: atMs - 5_000 }],
        struck: [{ name: 'postgres', detail: 'kill', fromMs: 0, toMs: atMs }],
      }),
    ),
  ),
];
