#!/usr/bin/env node
import { Command } from 'commander';
import { ConfigError } from '../config.ts';
import { doctorCommand } from './doctor.ts';
import { generationCommand } from './generation.ts';
import { grantCommand } from './grant.ts';
import { keyCommand } from './key.ts';
import { migrateCommand } from './migrate.ts';
import { openApiCommand } from './openapi.ts';
import { simulateCommand } from './simulate.ts';
import { tenantCommand } from './tenant.ts';

const program = new Command('darkroom')
  .description('Darkroom: a durable orchestrator for AI media generations')
  .showHelpAfterError('Run "darkroom help" for all commands.')
  .addHelpText(
    'after',
    '\nSettings come from the environment; without DATABASE_URL from the `npm start` that runs in this folder.\n' +
      'Exit codes: 0 done, 1 refused or violated, 2 wrong use, 78 bad configuration.',
  );
for (const command of [
  doctorCommand(),
  migrateCommand(),
  tenantCommand(),
  keyCommand(),
  grantCommand(),
  generationCommand(),
  simulateCommand(),
  openApiCommand(),
]) {
  program.addCommand(command);
}

// A reader that has seen enough (`| head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof ConfigError ? 78 : 1;
}
