import { createHash, randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { expect } from 'vitest';
import { checkInvariants, readCredits } from '../../src/db/index.ts';
import type { GenerationView } from '../../src/domain/generation-view.ts';
import { eventually } from '../simulators/control.ts';
import { GRANTED } from './darkroom.ts';
import type { Darkroom } from './darkroom.ts';

/** A prompt that no other test has, so that faults and journal entries of one test are its own. */
export function uniquePrompt(words: string): string {
  return `${words} ${randomUUID()}`;
}

export interface Asked {
  readonly id: string;
  readonly prompt: string;
}

export async function call(
  room: Darkroom,
  method: string,
  path: string,
  body?: unknown,
  key: string = randomUUID(),
) {
  const answer = await fetch(`${room.apiUrl}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${room.key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'idempotency-key': key }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    headers: answer.headers,
    body: JSON.parse(text) as GenerationView & { code?: string },
  };
}

/** Asks for a generation through the public API. */
export async function ask(room: Darkroom, model: string, prompt: string, more: object = {}): Promise<Asked> {
  const answer = await call(room, 'POST', '/v1/generations', {
    model,
    input: { prompt, duration_seconds: 2 },
    ...more,
  });
  expect(answer.status, JSON.stringify(answer.body)).toBe(202);
  return { id: answer.body.id, prompt };
}

/** Uploads an input through the public API; its id. */
export async function uploadInput(room: Darkroom, bytes: Buffer): Promise<string> {
  const answer = await fetch(`${room.apiUrl}/v1/inputs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${room.key}`, 'idempotency-key': randomUUID() },
    body: bytes,
  });
  const text = await answer.text();
  expect(answer.status, text).toBe(201);
  return (JSON.parse(text) as { id: string }).id;
}

export async function get(room: Darkroom, id: string): Promise<GenerationView> {
  return (await call(room, 'GET', `/v1/generations/${id}`)).body;
}

/** A view without what turns by itself: the links of outputs change each quarter of an hour. */
export function withoutLinks(view: GenerationView) {
  const outputs = view.outputs.map(({ url: _url, url_expires_at: _until, ...rest }) => rest);
  return { ...view, outputs };
}

/** Until the generation fits, by the public API. */
export function until(
  room: Darkroom,
  id: string,
  fits: (generation: GenerationView) => boolean,
  limitMs = 90_000,
): Promise<GenerationView> {
  return eventually(async () => {
    const generation = await get(room, id).catch(() => undefined);
    return generation !== undefined && fits(generation) ? generation : undefined;
  }, limitMs);
}

export function untilEnd(room: Darkroom, id: string, limitMs = 90_000): Promise<GenerationView> {
  return until(room, id, ({ stage }) => stage === 'done', limitMs);
}

/** What is shown of it at any time: the links of its outputs are made anew every quarter of an hour. */
export const lasting = (generation: GenerationView): GenerationView => ({
  ...generation,
  outputs: generation.outputs.map((output) => ({ ...output, url: null, url_expires_at: null })),
});

export interface Facts {
  readonly state: string;
  /** Provider jobs whose prompt this was. */
  readonly jobs: number;
  /** Whose simulator had it; INFRO's unless told. */
  readonly provider?: string;
  /** Credits held; 40 unless told. */
  readonly price?: number;
  /** Of a success: credits charged, all that were held unless told. */
  readonly captured?: number;
  /** Of a success: the states of its outputs, one that is stored unless told. */
  readonly outputs?: readonly string[];
}

/**
 * What must hold after every scenario: the promised end, one hold resolved once, at most the given provider jobs, the
 * simulator's bytes on disk and behind its link when it succeeded, and no invariant violated.
 */
export async function expectPromise(
  room: Darkroom,
  { id, prompt }: Asked,
  facts: Facts,
): Promise<GenerationView> {
  const { provider = 'infro', price = 40 } = facts;
  const generation = await get(room, id);
  expect(generation.state).toBe(facts.state);
  const journal = await room.sims[provider]!.journal(prompt);
  expect(journal.jobs.length).toBe(facts.jobs);
  const succeeded = facts.state === 'succeeded';
  const captured = succeeded ? (facts.captured ?? price) : 0;
  expect(generation.credits).toEqual({ held: 0, captured, released: price - captured, refunded: 0 });
  const captures = await room.db.prisma.ledgerTransaction.count({
    where: { generationId: id, kind: 'capture' },
  });
  expect(captures).toBe(succeeded ? 1 : 0);
  if (succeeded) {
    const job = { provider, jobId: journal.jobs[0]?.id ?? '' };
    await expectBytes(room, generation, job, facts.outputs ?? ['stored']);
  }
  await expectInvariants(room);
  return generation;
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'video/mp4': 'mp4',
  'image/png': 'png',
  'audio/wav': 'wav',
};

interface SimulatedJob {
  readonly provider: string;
  readonly jobId: string;
}

async function expectBytes(
  room: Darkroom,
  { id, outputs }: GenerationView,
  job: SimulatedJob,
  states: readonly string[],
): Promise<void> {
  const rows = await room.db.prisma.output.findMany({
    where: { generationId: id },
    orderBy: { index: 'asc' },
  });
  expect(rows.map(({ state }) => state).sort()).toEqual([...states].sort());
  for (const { index, path, sha256, mediaType } of rows.filter(({ state }) => state === 'stored')) {
    const stored = await buffer(await room.storage.read(path ?? ''));
    const original = await providerFile(room, job, `${index}.${EXTENSIONS[mediaType ?? '']}`);
    expect(stored.equals(original)).toBe(true);
    const link = outputs.find((output) => output.index === index)?.url ?? '';
    expect((await download(link)).equals(original)).toBe(true);
    expect(Buffer.from(sha256 ?? []).toString('hex')).toBe(
      createHash('sha256').update(original).digest('hex'),
    );
  }
}

/** What is behind a link. */
export async function download(link: string, headers: Record<string, string> = {}): Promise<Buffer> {
  const answer = await fetch(link, { headers });
  expect(answer.ok, `${answer.status} of a link`).toBe(true);
  return Buffer.from(await answer.arrayBuffer());
}

async function providerFile(
  room: Darkroom,
  { provider, jobId }: SimulatedJob,
  name: string,
): Promise<Buffer> {
  const key = `sim-key-${provider}`;
  const answer = await fetch(`${room.sims[provider]!.url}/files/${encodeURIComponent(jobId)}/${name}`, {
    headers: { authorization: `Bearer ${key}`, 'x-goog-api-key': key },
  });
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

export async function expectInvariants(room: Darkroom): Promise<void> {
  const violated = (await checkInvariants(room.db)).filter(({ violations }) => violations > 0);
  expect(violated).toEqual([]);
  const credits = await readCredits(room.db, room.tenantId, 'default');
  expect((credits?.available ?? 0) + (credits?.held ?? 0) + (credits?.spent ?? 0)).toBe(GRANTED);
}
