import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadToolConfig } from '../config.ts';
import type { ToolConfig } from '../config.ts';

/** The variables of a command: the environment, completed by those of the `npm start` that runs in this folder. */
export function commandEnvironment(): NodeJS.ProcessEnv {
  return process.env['DATABASE_URL'] === undefined ? { ...runningStack(), ...process.env } : process.env;
}

/**
 * The settings of a command: the environment, else those of the `npm start` that runs in this folder.
 * @throws ConfigError naming what is missing
 */
export function toolConfig(): ToolConfig {
  const env = commandEnvironment();
  Object.assign(process.env, { TEMPORAL_ADDRESS: env['TEMPORAL_ADDRESS'] ?? '127.0.0.1:7233' });
  return loadToolConfig(env);
}

function runningStack(): Record<string, string> {
  try {
    const text = readFileSync(join(process.env['DARKROOM_DATA'] ?? '.darkroom', 'running.json'), 'utf8');
    return (JSON.parse(text) as { env?: Record<string, string> }).env ?? {};
  } catch {
    return {};
  }
}
