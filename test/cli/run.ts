import { vi } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';

/** What one command did. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Nothing listens there: a command that needs Temporal says so at once. */
export const NO_TEMPORAL = '127.0.0.1:1';

/** Commands in this process, on this database: the same code as the real one, without the seconds of a start. */
export function commandsOn(settings: {
  readonly databaseUrl: () => string;
  readonly temporalAddress?: string;
  readonly storageUrl?: () => string;
}): (...args: string[]) => Promise<Ran> {
  const {
    databaseUrl,
    temporalAddress = NO_TEMPORAL,
    storageUrl = () => 'file:.darkroom/outputs',
  } = settings;
  return async (...args) => {
    vi.stubEnv('DATABASE_URL', databaseUrl());
    vi.stubEnv('TEMPORAL_ADDRESS', temporalAddress);
    vi.stubEnv('STORAGE_URL', storageUrl());
    const texts = { stdout: '', stderr: '' };
    const spies = (['stdout', 'stderr'] as const).map((name) =>
      vi.spyOn(process[name], 'write').mockImplementation((chunk) => {
        texts[name] += String(chunk);
        return true;
      }),
    );
    try {
      return { code: await runProgram(args), ...texts };
    } finally {
      for (const spy of spies) spy.mockRestore();
      vi.unstubAllEnvs();
    }
  };
}

/** What a command printed with `--json`, which it did not refuse. */
export function jsonOf(ran: Ran): unknown {
  if (ran.code !== 0) throw new Error(`exit code ${ran.code}: ${ran.stderr}`);
  return JSON.parse(ran.stdout);
}
