import { Command } from 'commander';
import { runDoctor } from '../services/run-doctor.ts';
import { show, table, withContext } from './context.ts';

/** One invariant reads whole tables. */
const STATEMENT_LIMIT_MS = 3_600_000;
/** A person who waits longer than that wants to know for what. */
const QUIET_MS = 3_000;

/** `darkroom doctor`: every invariant by name; exit code 1 when one is violated. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description('check every invariant in one snapshot, and every stored output and input against its file')
    .option('--json', 'one JSON object instead of a table')
    .action(async ({ json = false }: { json?: boolean }, command: Command) => {
      const startedMs = performance.now();
      const tell = (name: string, place: number, of: number) => {
        if (performance.now() - startedMs > QUIET_MS) process.stderr.write(`${place} of ${of}: ${name}\n`);
      };
      const results = await withContext((ctx) => runDoctor(ctx, tell), {
        statementLimitMs: STATEMENT_LIMIT_MS,
      });
      const violated = results.filter(({ violations }) => violations > 0);
      show({ ok: violated.length === 0, invariants: results }, json, () =>
        [
          table(
            results.map(({ name, violations, examples }) => [
              violations === 0 ? 'ok' : `${violations}`,
              name,
              examples.join(', '),
            ]),
          ),
          ...(violated.length === 0 ? [`All ${results.length} invariants hold.`] : []),
        ].join('\n'),
      );
      if (violated.length > 0) {
        command.error(
          `${violated.length} of ${results.length} invariants are violated: see "An invariant is violated" in OPERATIONS.md.`,
        );
      }
    });
}
