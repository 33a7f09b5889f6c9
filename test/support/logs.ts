import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Darkroom } from './darkroom.ts';

/** All that API and workers have logged so far. */
export async function logText(room: Darkroom): Promise<string> {
  const files = (await readdir(room.logs)).filter((file) => /^(api|worker)-/.test(file));
  if (files.length < 2) throw new Error(`logs of ${files.join()} only`);
  return (await Promise.all(files.map((file) => readFile(join(room.logs, file), 'utf8')))).join('');
}

export type Line = Readonly<Record<string, unknown>>;
/** The lines of a log. */
export const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);

/** A history as text, with the bytes of its payloads readable. */
export async function historyText(room: Darkroom, generation: string): Promise<string> {
  const texts: string[] = [];
  const { client } = room;
  const handle = client.workflow.getHandle(generation);
  const read = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value);
    else if (value instanceof Uint8Array) texts.push(Buffer.from(value).toString('utf8'));
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(read);
  };
  read((await handle.fetchHistory()).events);
  read(
    await client.workflowService.describeWorkflowExecution({
      namespace: 'default',
      execution: { workflowId: generation },
    }),
  );
  return texts.join('\n');
}

/** Which of these texts, by name, are in another. */
export function namesIn(text: string, canaries: Readonly<Record<string, string>>): string[] {
  return Object.entries(canaries).flatMap(([what, canary]) => (text.includes(canary) ? [what] : []));
}
