#!/usr/bin/env node
// The command `darkroom` of a checkout: prepares it if needed, then runs the TypeScript source.
import { prepareOrExit } from './prepare.mjs';

await prepareOrExit();
const { register } = await import('tsx/esm/api');
register();
await import('../src/cli/main.ts');
