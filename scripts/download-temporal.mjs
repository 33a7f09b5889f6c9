// Lets the Temporal SDK put its own development server into a folder: node scripts/download-temporal.mjs FOLDER
import { TestWorkflowEnvironment } from '@temporalio/testing';

const environment = await TestWorkflowEnvironment.createLocal({
  server: { executable: { type: 'cached-download', downloadDir: process.argv[2], ttl: '365d' } },
});
await environment.teardown();
