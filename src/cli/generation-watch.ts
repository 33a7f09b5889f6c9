import type { Command } from 'commander';
import { openChangeFeed } from '../db/index.ts';
import { watchGeneration, type Watched } from '../services/watch-generation.ts';
import { withContext } from './context.ts';
import { spanOf } from './generation-text.ts';

const REDRAW_EVERY_MS = 1_000;

/** `darkroom generation watch`: follows one until it has ended; exit code 0 when it succeeded, else 1. */
export function describeWatch(command: Command): Command {
  return command
    .description('follow one until it has ended; exit code 0 when it succeeded, 1 otherwise')
    .argument('<id>', 'gen_…')
    .option('--json', 'one JSON object a line, for each change')
    .action(async (id: string, { json = false }: { json?: boolean }, self: Command) => {
      const stop = new AbortController();
      const onSignal = (): void => stop.abort();
      for (const signal of SIGNALS) process.on(signal, onSignal);
      try {
        const last = await follow(id, json, stop.signal);
        if (last === null && !stop.signal.aborted) {
          return self.error(`There is no generation ${id}.`, { exitCode: 1 });
        }
        if (last === null || last.due_at !== null) {
          return self.error(`Stopped watching; ${id} goes on.`, { exitCode: 1 });
        }
        if (last.state !== 'succeeded') {
          return self.error(
            `${id} ended as ${last.state}${last.reason === null ? '' : `, ${last.reason}`}.`,
            {
              exitCode: 1,
            },
          );
        }
      } finally {
        for (const signal of SIGNALS) process.off(signal, onSignal);
      }
    });
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** @returns the last that was told */
function follow(id: string, json: boolean, signal: AbortSignal): Promise<Watched | null> {
  return withContext(async ({ db, databaseUrl, runUrl }) => {
    // A pooler may forget LISTEN, and then looking each second has to do: that is no problem to tell.
    const feed = openChangeFeed(databaseUrl, () => {});
    const screen = createScreen(json);
    let last: Watched | null = null;
    try {
      for await (const now of watchGeneration({ db, feed, runUrl }, { id, signal })) {
        screen.tell(now);
        last = now;
      }
    } finally {
      screen.close();
      await feed.close();
    }
    return last;
  });
}

interface Screen {
  readonly tell: (now: Watched) => void;
  readonly close: () => void;
}

/** JSON lines for programs, a line per change for files, one line that moves for a terminal. */
function createScreen(json: boolean): Screen {
  if (json) return { tell: (now) => print(JSON.stringify(now)), close: () => {} };
  if (!process.stdout.isTTY) {
    let told = '';
    return {
      tell: (now) => {
        // The times alone are no news for a log.
        const line = lineOf(now, null);
        if (line !== told) print(`${new Date().toISOString()}  ${line}`);
        told = line;
      },
      close: () => {},
    };
  }
  return liveLine();
}

/** Drawn again each second, since the times in it go on; what was is left above when the stage changes. */
function liveLine(): Screen {
  let shown: Watched | null = null;
  const draw = (): void => {
    if (shown === null) return;
    const line = lineOf(shown, Date.now());
    process.stdout.write(`\r\x1b[2K${line.slice(0, Math.max((process.stdout.columns || 80) - 1, 20))}`);
  };
  const timer = setInterval(draw, REDRAW_EVERY_MS);
  return {
    tell(now) {
      if (shown !== null && (shown.stage !== now.stage || shown.state !== now.state))
        process.stdout.write('\n');
      shown = now;
      draw();
    },
    close() {
      clearInterval(timer);
      if (shown !== null) process.stdout.write('\n');
    },
  };
}

/** @param nowMs null = without times */
function lineOf(now: Watched, nowMs: number | null): string {
  const { state, stage, progress, provider, reason, due_at: due, deadline_at: deadline } = now;
  const ended = due === null;
  const times =
    nowMs === null || ended
      ? []
      : [`next look ${distance(due, nowMs)}`, `deadline ${distance(deadline, nowMs)}`];
  return [
    `${state}${ended ? '' : `, ${stage}`}`,
    ...(progress === null || ended ? [] : [`${Math.round(progress * 100)} %`]),
    provider,
    ...(reason === null ? [] : [reason]),
    ...times,
  ].join('  ');
}

function distance(time: string, nowMs: number): string {
  const ms = Date.parse(time) - nowMs;
  return ms >= 0 ? `in ${spanOf(ms)}` : `${spanOf(-ms)} ago`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
