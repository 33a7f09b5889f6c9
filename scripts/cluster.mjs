// npm run cluster: prepares the checkout, then runs Darkroom on Temporal's clustered server in this same process, so that signals reach it.
import { prepareOrExit } from './prepare.mjs';

await prepareOrExit();
const { register } = await import('tsx/esm/api');
register();
await import('../src/dev/cluster.ts');
