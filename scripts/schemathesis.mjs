// npm run schemathesis: prepares the checkout, then runs test/schemathesis/main.ts in this same process, so that signals reach it.
import { prepareOrExit } from './prepare.mjs';

await prepareOrExit();
const { register } = await import('tsx/esm/api');
register();
await import('../test/schemathesis/main.ts');
