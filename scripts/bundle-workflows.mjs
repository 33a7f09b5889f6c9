// Part of npm run build: the workflows as one file, so that built workers start without bundling them.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './tools.mjs';

const built = join(ROOT, 'dist', 'worker', 'bundle-workflows.js');
const { writeWorkflowBundle } = await import(pathToFileURL(built).href);
await writeWorkflowBundle(join(ROOT, 'dist', 'workflows.js'));
