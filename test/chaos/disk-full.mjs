// Preloaded into a process under test where its disk can't be filled: no file of the storage takes more bytes while the
// file DISK_FULL_MARKER is there.
import { existsSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const marker = process.env['DISK_FULL_MARKER'];
const { open } = fs;

function assertSpace() {
  if (!existsSync(marker)) return;
  throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', errno: -28 });
}

fs.open = async (path, flags, ...rest) => {
  const handle = await open(path, flags, ...rest);
  // Only new files are opened so.
  if (flags !== 'wx') return handle;
  for (const name of ['write', 'writeFile', 'appendFile']) {
    const method = handle[name].bind(handle);
    handle[name] = async (...args) => {
      assertSpace();
      return method(...args);
    };
  }
  return handle;
};
syncBuiltinESMExports();
