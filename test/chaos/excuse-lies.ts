import * as lies from './lies.ts';
import { lie, type Lie } from './lies.ts';
import { all, faults, journal, struck } from './simulator-lies.ts';

const nothing: Lie['plant'] = () => Promise.resolve({});
const UNRESOLVED = 'a submit stays unresolved only where it must';
/** An answer was lost, and nothing explains it. */
export const UNEXPLAINED: readonly string[] = ['every job is known', UNRESOLVED];

/** For each excuse of struck.ts and of runs: faults beside a lie that do not explain it. */
export const UNEXCUSED_LIES: readonly Lie[] = [
  lie(
    'a lost job, and its provider loses the answers of others only',
    UNEXPLAINED,
    'lost',
    struck('crazyrouter', { kind: 'reset_after_accept', match: { prompt: 'another' } }),
  ),
  lie(
    'a lost job, and its provider failed in another way',
    UNEXPLAINED,
    'lost',
    struck('crazyrouter', { kind: 'missing_id' }),
  ),
  lie(
    'a lost job, and the fault that was set met nobody',
    UNEXPLAINED,
    'lost',
    faults('crazyrouter', (own) => own.map((fault) => ({ ...fault, struck: 0 }))),
  ),
  lie('a lost job, and the fault was set after it', UNEXPLAINED, 'lost', (small) =>
    struck('crazyrouter', { kind: 'reset_after_accept', fromMs: Date.now() })(small),
  ),
  lie(
    'a lost job, and a fault that takes no jobs',
    UNEXPLAINED,
    'lost',
    struck('crazyrouter', { kind: 'reset_before_accept' }),
  ),
  lie(
    'an unresolved submit, and its provider could be asked again',
    [UNRESOLVED, 'no job for what was not taken', 'every job is known'],
    'lost',
    all(
      lies.ofRow(
        'submission',
        'lost',
        `provider = 'aigenway', first_sent_at = first_sent_at - interval '1 minute'`,
      ),
      struck('aigenway', { kind: 'reset_after_accept' }),
    ),
  ),
  lie(
    'an unresolved submit, and its provider named the job',
    [UNRESOLVED],
    'lost',
    journal('crazyrouter', 'lost', ({ created_at: at }) => ({
      callbacks: [
        {
          event_id: 'e',
          type: 'succeeded',
          attempt: 1,
          forged: false,
          at: new Date(Date.parse(at) - 60_000).toISOString(),
          answer: 200,
        },
      ],
    })),
  ),
  lie(
    'a lost job, and faults of others and at other times',
    UNEXPLAINED,
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
