import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import type { Logger } from '@temporalio/worker';

/** The workflows' entry, in source or built, whichever this file is. */
export const WORKFLOWS_PATH = fileURLToPath(
  new URL(`../workflows/index${import.meta.url.slice(-3)}`, import.meta.url),
);

/**
 * Writes the workflows as one file for `WORKFLOW_BUNDLE`, so that a worker starts without bundling them itself (some
 * seconds of CPU). It must come from the same version as the worker.
 */
export async function writeWorkflowBundle(file: string, logger?: Logger): Promise<void> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: WORKFLOWS_PATH,
    ...(logger === undefined ? {} : { logger }),
  });
  await writeFile(file, code);
}
