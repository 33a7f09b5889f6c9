import { Command, CommanderError } from 'commander';
import { ConfigError } from '../config.ts';
import { isDatabaseUnavailable } from '../db/index.ts';
import { budgetCommand } from './budget.ts';
import { doctorCommand } from './doctor.ts';
import { withExamples } from './examples.ts';
import { filesCommand } from './files.ts';
import { generationCommand } from './generation.ts';
import { grantCommand } from './grant.ts';
import { inboxCommand } from './inbox.ts';
import { keyCommand } from './key.ts';
import { ledgerCommand } from './ledger.ts';
import { limitCommand } from './limit.ts';
import { migrateCommand } from './migrate.ts';
import { openApiCommand } from './openapi.ts';
import { pauseCommand, resumeCommand } from './pause.ts';
import { providerCommand } from './provider.ts';
import { providersCommand } from './providers.ts';
import { recoverCommand } from './recover.ts';
import { replayCommand } from './replay.ts';
import { reportCommand } from './report.ts';
import { apiCommand, devCommand, workerCommand } from './run-process.ts';
import { simulateCommand } from './simulate.ts';
import { submissionCommand } from './submission.ts';
import { sweepCommand } from './sweep.ts';
import { tenantCommand } from './tenant.ts';
import { webhookCommand } from './webhook.ts';

const USAGE = 2;
const CONFIGURATION = 78;

/** All commands. */
export function createProgram(): Command {
  const program = new Command('darkroom')
    .description('Darkroom: a durable orchestrator for AI media generations')
    .showHelpAfterError('Run "darkroom help" for all commands.')
    .addHelpText(
      'after',
      '\nSettings come from the environment; without DATABASE_URL from the `npm start` that runs in this folder.\n' +
        'Exit codes: 0 done, 1 refused or violated, 2 wrong use, 78 bad configuration.',
    );
  for (const command of [
    devCommand(),
    apiCommand(),
    workerCommand(),
    doctorCommand(),
    reportCommand(),
    migrateCommand(),
    tenantCommand(),
    keyCommand(),
    grantCommand(),
    ledgerCommand(),
    generationCommand(),
    submissionCommand(),
    inboxCommand(),
    webhookCommand(),
    filesCommand(),
    limitCommand(),
    budgetCommand(),
    sweepCommand(),
    pauseCommand(),
    resumeCommand(),
    recoverCommand(),
    replayCommand(),
    providersCommand(),
    providerCommand(),
    simulateCommand(),
    openApiCommand(),
  ]) {
    program.addCommand(command);
  }
  return withExamples(program);
}

/** Commander then throws instead of ending the process; it has printed its message by then. */
function throwing(command: Command): Command {
  command.exitOverride();
  command.commands.forEach((child) => throwing(child));
  return command;
}

/** Runs one command of the line (without the program's own name) and tells its exit code. */
export async function runProgram(args: readonly string[]): Promise<number> {
  try {
    await throwing(createProgram()).parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      // Its own complaints are all about wrong use; what a command refuses carries the code that it chose.
      return error.code === 'commander.error' ? error.exitCode : USAGE;
    }
    process.stderr.write(`${messageOf(error)}\n`);
    return error instanceof ConfigError ? CONFIGURATION : 1;
  }
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return isDatabaseUnavailable(error)
    ? `The database could not be asked, or did not answer in time. Check DATABASE_URL and that PostgreSQL runs; of a long report, ask for fewer days.\n${text.trim()}`
    : text;
}
