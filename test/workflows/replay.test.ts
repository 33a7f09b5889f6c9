import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { beforeAll, describe, expect, it } from 'vitest';

const HISTORIES = fileURLToPath(new URL('../histories/', import.meta.url));
const files = readdirSync(HISTORIES).filter((name) => name.endsWith('.json'));

let workflowBundle: WorkflowBundleWithSourceMap;
beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  workflowBundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url)),
    logger: new DefaultLogger('ERROR'),
  });
}, 120_000);

/** Runs of released workflow code, one a scenario; recorded by `RECORD_HISTORIES=1 npx vitest run test/e2e test/workflows`. */
describe('replay of recorded histories (H2)', () => {
  it('there is one for each scenario', () => {
    expect(files).toEqual([
      'callback.json',
      'cancel-first.json',
      'cancel.json',
      'deadline.json',
      'failover.json',
      'operator.json',
      'parked-attach.json',
      'parked.json',
      'partial.json',
      'poll.json',
      'resume.json',
      'ui-cancel.json',
      'unknown.json',
    ]);
  });

  it.each(files)('%s: today’s code makes the same decisions', async (file) => {
    const { workflowId, history } = JSON.parse(readFileSync(`${HISTORIES}${file}`, 'utf8')) as {
      workflowId: string;
      history: unknown;
    };
    await Worker.runReplayHistory({ workflowBundle, replayName: file }, history, workflowId);
  });

  it('sees a change: a history without its submit does not replay', async () => {
    const { workflowId, history } = JSON.parse(readFileSync(`${HISTORIES}callback.json`, 'utf8')) as {
      workflowId: string;
      history: { events: { activityTaskScheduledEventAttributes?: { activityType: { name: string } } }[] };
    };
    const submit = history.events.find((event) => event.activityTaskScheduledEventAttributes);
    if (submit?.activityTaskScheduledEventAttributes)
      submit.activityTaskScheduledEventAttributes.activityType.name = 'collect';
    await expect(
      Worker.runReplayHistory({ workflowBundle, replayName: 'changed' }, history, workflowId),
    ).rejects.toThrow(DeterminismViolationError);
  });
});
