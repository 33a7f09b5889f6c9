import { randomUUID } from 'node:crypto';
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { eventually } from '../simulators/control.ts';
import type { SmallWorld } from './small-world.ts';
import type { Asked, Received, World } from './types.ts';

/** One lie in one of the books. */
export interface Lie {
  readonly name: string;
  /** The checks that find it, no others. */
  readonly foundBy: readonly string[];
  /** Whom they name; null = nobody. */
  readonly names: (ids: SmallWorld['ids']) => string | null;
  /** Plants it; what comes back takes it away. */
  readonly plant: (small: SmallWorld) => Promise<Planted>;
}

interface Planted {
  readonly world?: Partial<World>;
  readonly undo?: () => Promise<void>;
}

type Name = keyof SmallWorld['ids'];

/** `whom` = for what it stands in the small world, an id of nothing, or nobody. */
export const lie = (
  name: string,
  foundBy: readonly string[],
  whom: keyof SmallWorld['ids'] | 'gen_none' | null,
  plant: Lie['plant'],
): Lie => ({
  name,
  foundBy,
  names: (ids) => (whom === null || whom === 'gen_none' ? whom : ids[whom]),
  plant,
});

/** Changes a row in a way that no function of ours would; puts it back afterwards. */
export function inDatabase(
  table: string,
  where: (id: string) => string,
  change: (id: string) => string,
  name: Name,
): Lie['plant'] {
  return async ({ world, ids }) => {
    const client = new pg.Client({ connectionString: world.databaseUrl });
    // It ends with the database when an undo has failed.
    client.on('error', () => {});
    await client.connect();
    const at = where(ids[name]);
    await client.query(
      `SET session_replication_role = replica; CREATE TEMP TABLE saved AS SELECT * FROM ${table} WHERE ${at}`,
    );
    await client.query(change(ids[name]));
    return {
      undo: async () => {
        await client.query(`DELETE FROM ${table} WHERE ${at}; INSERT INTO ${table} SELECT * FROM saved`);
        await client.end();
      },
    };
  };
}

/** A row of the generation itself, or one that has its id. */
export const ofRow = (table: string, name: Name, set: string): Lie['plant'] => {
  const column = table === 'generation' ? 'id' : 'generation_id';
  const where = (id: string) => `${column} = '${id}'`;
  return inDatabase(table, where, (id) => `UPDATE ${table} SET ${set} WHERE ${where(id)}`, name);
};

/** The tenant remembers another call than it made. */
export function asked(name: Name, other: (one: Asked) => Partial<Asked>): Lie['plant'] {
  return ({ world, ids }) =>
    Promise.resolve({
      world: {
        asked: world.asked.map((one) => (one.id === ids[name] ? { ...one, ...other(one) } : one)),
      },
    });
}

/** The tenant got other webhooks; null = this one never came. */
export function received(name: Name, other: (one: Received) => Received | null): Lie['plant'] {
  return ({ world, ids }) =>
    Promise.resolve({
      world: {
        received: world.received
          .map((one) => (one.generationId === ids[name] ? other(one) : one))
          .filter((one) => one !== null),
      },
    });
}

/** An API that says something else of one path. */
export function api(name: Name, path: string, other: (text: string) => string): Lie['plant'] {
  return async ({ world, ids }) => {
    const server = createServer((request, response) => {
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([header, value]) => [header, String(value)]),
      );
      void fetch(world.apiUrl + request.url, { headers })
        .then(async (answer) => {
          const text = await answer.text();
          const isIt = request.url === `/v1/generations/${ids[name]}${path}`;
          response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
          return response.end(isIt ? other(text) : text);
        })
        .catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return {
      world: { apiUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
      undo: async () => {
        server.closeAllConnections();
        await new Promise((resolve) => {
          server.close(resolve);
        });
      },
    };
  };
}

/** A file in the storage that was not there. */
export function newFile(path: (ids: SmallWorld['ids']) => string): Lie['plant'] {
  return async ({ room, ids }) => {
    const file = join(room.outputs, path(ids));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, 'not ours');
    return { undo: () => rm(file) };
  };
}

/** A lie, and faults that do not explain it. */
export function beside(plant: Lie['plant'], faults: (atMs: number) => Partial<World>): Lie['plant'] {
  return async (small) => {
    const planted = await plant(small);
    return { ...planted, world: { ...planted.world, ...faults(Date.now()) } };
  };
}

/** The stored file of a generation has one more byte. */
export const longerFile: Lie['plant'] = async ({ room, ids }) => {
  const folder = join(room.outputs, ids.infro);
  const [file = ''] = await readdir(folder);
  const before = await readFile(join(folder, file));
  await appendFile(join(folder, file), '!');
  return { undo: () => writeFile(join(folder, file), before) };
};

/** One more line in the log of a worker. */
export function logLine(line: (small: SmallWorld) => string | Promise<string>): Lie['plant'] {
  return async (small) => {
    const file = join(small.room.logs, 'worker-lie.log');
    await writeFile(file, `${await line(small)}\n`);
    return { undo: () => rm(file) };
  };
}

/** Says of a job that it has another state. */
export const jobFailed: Lie['plant'] = async ({ room, world, ids }) => {
  const prompt = world.asked.find(({ id }) => id === ids.infro)?.prompt ?? '';
  const jobId = (await room.sim.journal(prompt)).jobs[0]?.id ?? '';
  await room.sim.post(`jobs/${jobId}`, { status: 'failed' });
  return { undo: () => room.sim.post(`jobs/${jobId}`, { status: 'succeeded' }).then(() => undefined) };
};

/** Sends the job once more, past everything of ours. It stays. */
export const secondJob: Lie['plant'] = async ({ room, ids }) => {
  const { request } = await room.db.prisma.submission.findFirstOrThrow({
    where: { generationId: ids.infro },
  });
  const { path, body } = request as { path: string; body: string };
  const answer = await fetch(room.sim.url + path, {
    method: 'POST',
    headers: {
      authorization: 'Bearer sim-key',
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    },
    body,
  });
  if (!answer.ok) throw new Error(await answer.text());
  return {};
};

/** A run that nobody works on, with these words in its history; ends as terminated, then is deleted. */
export function run(name: Name, words: (world: World) => string, ended: boolean): Lie['plant'] {
  return async ({ room, world, ids }) => {
    const handle = await room.client.workflow.start('generateMedia', {
      workflowId: ids[name],
      taskQueue: 'nobody',
      args: [words(world)],
    });
    if (ended) await handle.terminate();
    const query = `WorkflowId = '${ids[name]}' AND RunId = '${handle.firstExecutionRunId}'`;
    // Temporal's list, in which the checks look, lags behind.
    const seen = `${query} AND ExecutionStatus = '${ended ? 'Terminated' : 'Running'}'`;
    await eventually(
      async () => ((await room.client.workflow.count(seen)).count === 1 ? true : undefined),
      60_000,
    );
    return {
      undo: async () => {
        await room.client.workflowService.deleteWorkflowExecution({
          namespace: 'default',
          workflowExecution: { workflowId: ids[name], runId: handle.firstExecutionRunId },
        });
        await eventually(
          async () => ((await room.client.workflow.count(query)).count === 0 ? true : undefined),
          60_000,
        );
      },
    };
  };
}
