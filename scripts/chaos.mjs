// npm run chaos: prepares the checkout, then runs test/chaos/main.ts in this same process, so that signals reach it.
import { prepareOrExit } from './prepare.mjs';

await prepareOrExit();
const { register } = await import('tsx/esm/api');
register();
await import('../test/chaos/main.ts');
