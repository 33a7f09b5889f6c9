import { homedir } from 'node:os';
import { join } from 'node:path';

/** Darkroom's folder among the user's caches; it may be removed at any time, which only costs a new download or build. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  const home = env['HOME'] ?? env['USERPROFILE'] ?? homedir();
  if (env['XDG_CACHE_HOME'] !== undefined && env['XDG_CACHE_HOME'] !== '') {
    return join(env['XDG_CACHE_HOME'], 'darkroom');
  }
  if (process.platform === 'darwin') return join(home, 'Library', 'Caches', 'darkroom');
  if (process.platform === 'win32') {
    return join(env['LOCALAPPDATA'] ?? join(home, 'AppData', 'Local'), 'darkroom', 'cache');
  }
  return join(home, '.cache', 'darkroom');
}
