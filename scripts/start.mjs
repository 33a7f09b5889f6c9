// npm start: prepares the checkout, then runs the development stack in this same process, so that signals reach it.
import { prepareOrExit } from './prepare.mjs';

await prepareOrExit();
const { register } = await import('tsx/esm/api');
register();
await import('../src/dev/main.ts');
