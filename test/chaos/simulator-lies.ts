import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Fault } from '../../src/simulators/faults.ts';
import type { JournalView } from '../simulators/control.ts';
import type { Lie } from './lies.ts';
import type { SmallWorld } from './small-world.ts';
import type { World } from './types.ts';

type Name = keyof SmallWorld['ids'];
type Job = JournalView['jobs'][number];
/** As `GET /_sim/faults` shows them. */
type Counted = Fault & { readonly struck: number };

/** Several lies at once. */
export function all(...plants: readonly Lie['plant'][]): Lie['plant'] {
  return async (small) => {
    const planted: Awaited<ReturnType<Lie['plant']>>[] = [];
    for (const plant of plants) planted.push(await plant(small));
    const simulators = Object.assign(
      {},
      small.world.simulators,
      ...planted.map(({ world }) => world?.simulators),
    );
    return {
      world: Object.assign({}, ...planted.map(({ world }) => world), { simulators }) as Partial<World>,
      undo: async () => {
        for (const { undo } of planted.toReversed()) await undo?.();
      },
    };
  };
}

/** Another job, and other requests about it, in the journal of a simulator: `name`'s. */
export function journal(
  provider: string,
  name: Name,
  other: (job: Job) => Partial<Job>,
  requests: (job: Job, own: JournalView['requests']) => JournalView['requests'] = (_job, own) => own,
): Lie['plant'] {
  return simulator(provider, '/_sim/journal', (text) => {
    const view = JSON.parse(text) as JournalView;
    const asked = new RegExp(`a small world, ${name}(?![\\w-])`);
    const job = view.jobs.find(({ request_body: body }) => asked.test(body));
    if (job === undefined) throw new Error(`${provider} has no job of ${name}`);
    const jobs = view.jobs.map((one) => (one === job ? { ...job, ...other(job) } : one));
    return JSON.stringify({ ...view, jobs, requests: requests(job, view.requests) });
  });
}

/** The simulator tells of other faults, and of how often each struck. */
export const faults = (
  provider: string,
  other: (own: readonly Counted[]) => readonly Counted[],
): Lie['plant'] =>
  simulator(provider, '/_sim/faults', (text) => {
    const { faults: own } = JSON.parse(text) as { faults: readonly Counted[] };
    return JSON.stringify({ faults: other(own) });
  });

/** Faults that the run has set, each of which has struck somebody. */
export const struck = (provider: string, ...set: World['providerFaults'][string]): Lie['plant'] =>
  all(
    faults(provider, () => set.map((fault) => ({ ...fault, struck: 1 }))),
    () => Promise.resolve({ world: { providerFaults: { [provider]: set } } }),
  );

/** A simulator that answers one of its control routes in another way. */
function simulator(provider: string, path: string, other: (text: string) => string): Lie['plant'] {
  return async ({ world }) => {
    const server = createServer((request, response) => {
      const authorization = request.headers.authorization ?? '';
      void fetch(`${world.simulators[provider]}${request.url}`, { headers: { authorization } })
        .then(async (answer) => {
          const bytes = Buffer.from(await answer.arrayBuffer());
          response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
          return response.end(request.url?.startsWith(path) === true ? other(bytes.toString('utf8')) : bytes);
        })
        .catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return {
      world: { simulators: { ...world.simulators, [provider]: url } },
      undo: async () => {
        server.closeAllConnections();
        await new Promise((resolve) => {
          server.close(resolve);
        });
      },
    };
  };
}
